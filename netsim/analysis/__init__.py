"""Edge-isoperimetric analysis: how many links leave a set of routers at least."""
