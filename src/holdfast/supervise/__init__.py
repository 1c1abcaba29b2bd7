"""Watches a command from outside: starts it, samples it, notices when it stands, takes its stacks, starts it
again.
"""
