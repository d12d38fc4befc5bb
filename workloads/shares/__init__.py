"""Communication fractions of jobs: published values, and distributions."""
