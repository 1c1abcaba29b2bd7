"""Objects of the user's that grow, and the memory of the first step."""
