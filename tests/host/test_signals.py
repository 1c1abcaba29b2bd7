"""Signal numbers as people write them."""

from __future__ import annotations

import signal

from holdfast.host.signals import signal_name


def test_a_signal_has_its_name_and_a_real_time_signal_its_number() -> None:
    assert signal_name(15) == "SIGTERM"
    assert signal_name(signal.SIGRTMIN + 2) == f"SIG{signal.SIGRTMIN + 2}"
