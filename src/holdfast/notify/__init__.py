"""Messages to people who are not at the terminal: a stall, a restart, and how the run ended.

A process of its own follows the run folder and sends them, so that nothing it does can delay or end the run.
"""
