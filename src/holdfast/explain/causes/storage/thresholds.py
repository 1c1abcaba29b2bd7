"""Numbers that rules about files and disks compare with."""

from __future__ import annotations

#: A disk with less free space than this is shown as full. Chosen: it separates the full disks of the test programs
#: (a file system of 2 MiB) from small disks that are in order; no measurement on real runs is behind it.
LOW_DISK_BYTES = 8 << 20
