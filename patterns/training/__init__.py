"""One iteration of training a transformer on many GPUs: operations, bytes, times, messages."""
