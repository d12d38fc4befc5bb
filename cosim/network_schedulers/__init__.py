"""Network schedulers: paths, priorities and iteration starts of jobs that share links."""
