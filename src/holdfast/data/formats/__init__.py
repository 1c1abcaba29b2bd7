"""One file a format: how to recognise it, read it and, for four of them, write it."""
