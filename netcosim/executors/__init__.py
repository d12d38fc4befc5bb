"""What computes points: local processes, MPI ranks, Dask workers, Slurm jobs."""
