"""Checks of a dataset: findings, statistics, anchor coverage, and how they are shown."""
