"""What the columns and numbers of a table of boxes mean."""
