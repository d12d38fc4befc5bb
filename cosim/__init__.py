"""Queue and network joined: run times that contention changes, and what measures them."""
