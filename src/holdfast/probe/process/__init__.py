"""The process itself: exceptions, exits, signals, warnings, versions, workers."""
