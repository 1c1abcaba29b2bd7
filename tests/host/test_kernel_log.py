"""The kernel's log, by its records."""

from __future__ import annotations

from holdfast.host import kernel_log


def test_a_line_of_the_kernels_log() -> None:
    line = kernel_log.parse_record(
        b"3,812,5021000000,-;Memory cgroup out of memory: Killed process 441 (python)\n SUBSYSTEM=x\n"
    )
    assert line == kernel_log.KernelLine(5021.0, "Memory cgroup out of memory: Killed process 441 (python)")
    assert kernel_log.killed_pid([line.text]) == 441
    other = kernel_log.KernelLine(5022.0, "oom-kill: task=python,pid=44,uid=0")
    assert kernel_log.lines_about([line, other], {441}) == [line.text]
    assert kernel_log.parse_record(b"nonsense") is None
