"""Memory: predicted before a run, planned for, and measured against the prediction."""
