"""What changed between two runs, and what each change accounts for."""
