"""What the supervisor writes to the run folder, and what it reads back from it."""
