"""Stacks of all threads of all processes, and what each thread waits for."""
