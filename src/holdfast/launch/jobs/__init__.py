"""Job files for Vertex AI, SLURM and Kubernetes, and checks of the cloud before a run."""
