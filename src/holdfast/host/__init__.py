"""What the machine is and allows: /proc, control groups, limits, disks, GPUs. Cold: the standard library only."""
