"""Stands in for tensorflow_docs.vis."""
