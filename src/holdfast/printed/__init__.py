"""What a program's output says: progress, results, checkpoints, warnings, errors, ends. Pure functions of text."""
