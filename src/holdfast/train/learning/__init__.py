"""Whether a recipe can learn: what is known before the first step, and what is recorded for the verdict."""
