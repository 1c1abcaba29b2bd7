"""Errors that a user can meet, each raised by the real mistake."""
