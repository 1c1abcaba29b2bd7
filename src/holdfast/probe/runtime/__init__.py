"""What every part of the probe uses: the context, heartbeats, wrapping, user code, threads, fault dumps."""
