"""Objects that are told apart without keeping them alive."""

from __future__ import annotations

from holdfast.probe.runtime.weak_references import Numbers


class Thing:
    pass


def test_a_number_is_not_used_again_when_an_address_is() -> None:
    numbers, seen = Numbers(), set()
    for _ in range(500):  # each at the address of the one before
        thing = Thing()
        seen.add(numbers.of(thing))
        assert numbers.of(thing) in seen
        del thing
    assert len(seen) == 500
    assert len(numbers._known) <= 100


def test_what_cannot_be_referred_to_weakly_is_known_by_its_address() -> None:
    numbers, one, two = Numbers(), [1], [2]
    assert numbers.of(one) == numbers.of(one) != numbers.of(two)
    assert numbers.of(None) == numbers.of(None)
