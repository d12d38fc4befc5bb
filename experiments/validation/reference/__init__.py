"""Reference implementations of the engines: plain to read, slow."""
