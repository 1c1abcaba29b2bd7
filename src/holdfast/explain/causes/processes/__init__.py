"""Causes in processes, threads and signals."""
