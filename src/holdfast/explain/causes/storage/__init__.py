"""Causes in files and disks."""
