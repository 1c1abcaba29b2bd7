"""Samples of memory, CPU, I/O and GPU about once a second."""
