"""How much of their time jobs communicate: what is published of it, and what is drawn of it."""
