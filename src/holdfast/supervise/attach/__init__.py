"""Watching a process that ran already and was not started here."""
