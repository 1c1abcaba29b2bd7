"""Stall detection: limits by phase, activity, the judgement, and a closer look at a silent process."""
