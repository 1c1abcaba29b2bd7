"""Why a run ended, or why it does not move: a pure function over its folder.

>>> from holdfast.explain import explain
>>> explain(Path("runs/kangaroo-3")).outcome
"""

from __future__ import annotations

from holdfast.explain.finding import Fact, Finding, Outcome, Remedy, RuledOut, Strength, Title, Verdict
from holdfast.explain.judge import explain, explain_log, judge

__all__ = [
    "Fact",
    "Finding",
    "Outcome",
    "Remedy",
    "RuledOut",
    "Strength",
    "Title",
    "Verdict",
    "explain",
    "explain_log",
    "judge",
]
