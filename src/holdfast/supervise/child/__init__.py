"""Starts the command and relays its output: terminal, relay process, log, leftover processes."""
