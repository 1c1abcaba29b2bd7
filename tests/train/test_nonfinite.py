"""What is done after a loss or gradient that is not finite, and what is reported."""

from __future__ import annotations

from holdfast.train import nonfinite


def test_the_answer_to_divergence() -> None:
    def answers(policy: str, can: bool = True) -> list[str]:
        return [nonfinite.decide_policy(policy, so_far=n, limit=2, can_roll_back=can) for n in range(3)]

    assert answers("stop") == ["stop", "stop", "stop"]
    assert answers("skip") == ["skip", "skip", "stop"]
    assert answers("rollback") == ["rollback", "rollback", "stop"]
    assert answers("rollback", can=False) == ["stop", "stop", "stop"]


def test_the_first_thing_that_is_not_finite_is_named() -> None:
    nan, inf = float("nan"), float("inf")
    parts = {"box": 1.0, "class": inf}
    assert nonfinite.first_nonfinite({"parts": parts, "loss": inf})[:2] == ("loss-part", "the class loss")
    fine = {"parts": {"box": 1.0}, "loss": 1.0, "gradient_norm": nan, "norms": {"a": 1.0, "b": nan}}
    assert nonfinite.first_nonfinite(fine)[:2] == ("gradient", "the gradient of b")
