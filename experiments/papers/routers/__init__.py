"""What conclusions about placement hang on the router."""
