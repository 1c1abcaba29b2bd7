"""Checkpoints: files, background writer, resume, copies in a bucket, emergency saves, the lock of a run."""
