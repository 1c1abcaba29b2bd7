"""Holdfast under a real SLURM: a cluster of namespaces on this machine, and what is said of each event."""
