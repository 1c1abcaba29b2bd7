"""Mutated files and messages of strangers: never a crash, a hang or unbounded memory."""
