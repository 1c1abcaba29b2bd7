"""Where a file was to be written: what is missing is its folder, and a read-only disk is nobody's rights."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import events as ev
from tests.explain.made import Run, do_of, sentence


def test_an_element_that_does_not_fit_is_looked_for_in_the_generator(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    node = {"op": "generator", "function": "gen", "where": "train.py:14", "python": True}
    run.fit(data=ev.DatasetSeen(type="tf.data", nodes=[node], where="train.py:18"))
    message = "`generator` yielded an element of shape (2,) where an element of shape () was expected."
    run.raised("TypeError", message, user_line="train.py:18")
    found = run.verdict().findings[0]
    assert found.cause == "script-error"
    assert "the generator is gen, at train.py:14" in [sentence(fact) for fact in found.because]
    assert (
        do_of(found.remedies[0]) == "change what gen yields (train.py:14), or the signature that it was given"
    )
