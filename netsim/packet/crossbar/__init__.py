"""Input-queued routers: their arrays, their kernels and the loop with them."""
