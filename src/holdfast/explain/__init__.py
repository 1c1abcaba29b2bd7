"""Why a run ended, or why it does not move: a pure function over its folder.

>>> from holdfast.explain import explain
>>> explain(Path("runs/kangaroo-3")).as_json()
"""

from __future__ import annotations

from holdfast.explain.finding import Fact, Finding, Remedy, RuledOut, Strength, Verdict
from holdfast.explain.judge import explain, judge

__all__ = ["Fact", "Finding", "Remedy", "RuledOut", "Strength", "Verdict", "explain", "judge"]
