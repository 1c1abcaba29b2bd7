"""Ways to predict the memory of a step: compiled ahead of time, by liveness, by counting, by a trial on the CPU."""
