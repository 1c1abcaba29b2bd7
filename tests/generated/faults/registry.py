"""What a fault is: a change of a draft, the causes that are honest answers, and the bases that it fits."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..draft import Draft

Change = Callable[[Draft, random.Random], None]


@dataclass(frozen=True)
class Fault:
    name: str
    expected: tuple[str, ...]  # any of these is right
    acceptable: tuple[str, ...]  # weaker, not wrong
    needs: frozenset[str]
    without: frozenset[str]
    one_of: frozenset[str]
    change: Change
    limit_s: float

    def fits(self, features: set[str]) -> bool:
        return (
            self.needs <= features
            and not self.without & features
            and (not self.one_of or bool(self.one_of & features))
        )


FAULTS: dict[str, Fault] = {}


def fault(
    expected: str,
    acceptable: str = "",
    *,
    needs: str = "",
    without: str = "",
    one_of: str = "",
    limit_s: float = 150.0,
) -> Callable[[Change], Change]:
    """All arguments are lists of words. The function's docstring says what was seen without any supervisor."""

    def register(change: Change) -> Change:
        name = change.__name__
        assert name not in FAULTS, name
        sets = (frozenset(text.split()) for text in (needs, without, one_of))
        FAULTS[name] = Fault(name, tuple(expected.split()), tuple(acceptable.split()), *sets, change, limit_s)
        return change

    return register


def callback(draft: Draft, definition: str, made: str = "c_Hook()") -> None:
    """A callback class and its use in `fit`."""
    if definition:
        draft.defs.append(definition)
    draft.put(fit_kw=f", callbacks=[{made}]")


def longer(draft: Draft, epochs: int = 600) -> None:
    draft.constants["EPOCHS"] = str(epochs)


def no_final_loss(draft: Draft) -> None:
    """The history is empty: the last lines must not fail because of it."""
    for piece in draft.pieces:
        piece.body = piece.body.replace(
            'SAY("final loss {:.4f}", v_hist.history["loss"][-1])',
            'SAY("epochs recorded: {}", len(v_hist.epoch))',
        )
