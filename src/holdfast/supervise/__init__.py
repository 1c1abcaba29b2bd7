"""Supervises a command from outside: starts it, samples it, detects stalls, captures stacks, restarts it."""
