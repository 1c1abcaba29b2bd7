"""A port that another process has."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from tests.explain.made import Run, code_of, title_of


def example(run: Run) -> None:
    run.raised("OSError", "[Errno 98] Address already in use", errno=98)


def near_miss(run: Run) -> None:
    run.raised("ValueError", "use another address: this one is not of the bucket")


@pytest.mark.parametrize(
    ("kind", "message", "port"),
    [
        ("OSError", "[Errno 98] Address already in use", None),
        ("OSError", "[Errno 98] error while attempting to bind on address ('0.0.0.0', 6006): 12:30:11 [::]:6006", 6006),
        ("DistNetworkError", "has failed to listen. port: 29500, useIpv6: false, name: EADDRINUSE", 29500),
        ("RuntimeError", "failed to bind to 0.0.0.0:29511 (errno: 98 - Address already in use).", 29511),
    ],
)  # fmt: skip
def test_the_port_is_named(tmp_path: Path, kind: str, message: str, port: int | None) -> None:
    run = Run(tmp_path / "run")
    run.raised(kind, message)
    first = run.first()
    assert (first.cause, first.strength, first.title.values["port"]) == (
        "port-in-use",
        Strength.ESTABLISHED,
        port,
    )


def test_a_crash_after_grpc_found_no_port(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.output(
        "E1120 01:12:21.99 8740 add_port.cc:83] Failed to add port to server: … resolved for '[::]:39413'\n"
    )
    run.ended(signal="SIGSEGV")
    first = run.first()
    assert (first.cause, first.strength) == ("port-in-use", Strength.SUPPORTED)
    assert title_of(first) == "port 39413 is in use by another process"
    assert code_of(first.remedies[0]) == "ss -ltnp 'sport = :39413'"
