"""From a path to records: which format it is, reading it, and naming formats that are not supported."""
