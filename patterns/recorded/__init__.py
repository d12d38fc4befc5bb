"""Steps of training that others recorded, as patterns."""
