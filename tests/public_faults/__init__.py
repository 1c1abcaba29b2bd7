"""Public faulty Keras programs, each run under the real supervisor and marked against the published fault."""
