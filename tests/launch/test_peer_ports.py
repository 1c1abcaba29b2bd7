"""Where a group of JAX processes on one machine listens."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from holdfast.train.process_group import bind_address
from tests.launch.test_group import Group
from tests.listening import addresses_of

pytestmark = pytest.mark.hot


def test_the_engine_of_a_group_on_one_machine_listens_on_loopback_alone(tmp_path: Path) -> None:
    group = Group(tmp_path / "run", 2, "--steps", "100000", "--step-s", "0.05", peer="tiny")
    found = {rank: addresses_of(group.trainer_at(rank, 1)) for rank in (0, 1)}
    found[-1] = addresses_of(group.process.pid)
    group.process.terminate()
    group.ended()
    assert found[0], "JAX's coordinator is in the process of rank 0"
    assert all(
        ipaddress.ip_address(host.removeprefix("::ffff:")).is_loopback
        for each in found.values()
        for host, _ in each
    ), found


def test_with_several_hosts_it_listens_to_all_of_them() -> None:
    assert bind_address("127.0.0.1:4000") == "127.0.0.1:4000"
    assert bind_address("first:4000") == "0.0.0.0:4000"
