"""Smith and Lowenthal, Jigsaw."""
