"""What leaves a results file for other programs: tables, jobs, traces."""
