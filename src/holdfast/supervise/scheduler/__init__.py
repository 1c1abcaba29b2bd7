"""The scheduler whose job a run is: SLURM or Kubernetes. Why it ended the job, as far as it says so."""
