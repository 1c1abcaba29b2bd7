"""How a run looks under a cell: HTML that needs nothing else, and the same as text. Pure.

Colab shows outputs in frames of their own and Jupyter removes scripts and style sheets from what it does not trust: so
there are neither, only elements with styles of their own, whose colours fit light and dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from holdfast.explain.finding import Verdict
from holdfast.report.verdict import render
from holdfast.report.verdict_json import as_json
from holdfast.report.wording.template import clipped
from holdfast.units import duration, long_duration, size

_GOOD, _WARN, _BAD, _LIVE, _SOFT = "#1f9d61", "#c98500", "#d8413a", "#2f81e0", "#8a94a3"
_TONES = {"running": _LIVE, "finished": _GOOD, "ended": _GOOD, "stopped-early": _WARN}
_FRAME = (
    "font:13px/1.5 system-ui,sans-serif;border:1px solid #8a94a355;border-left:4px solid {tone};border-radius:6px;"
    "padding:8px 14px;margin:6px 0;max-width:860px;overflow-wrap:anywhere"
)
_CODE = "font:12px/1.5 ui-monospace,Menlo,Consolas,monospace"
_MOST_FACTS = 6


def live_html(row: Mapping[str, Any], *, folder: str, since_s: float) -> str:
    """A run that still runs: where it is, how it is doing, and what is worth a look."""
    tone = _BAD if row.get("state") == "stalled" else _LIVE
    facts = _styled("span", "font-variant-numeric:tabular-nums", escape(" · ".join(_facts(row, since_s))))
    course = _styled(
        "div", "display:flex;gap:16px;align-items:center", _spark(row.get("losses", ()), tone), facts
    )
    why = _styled("div", f"color:{_BAD}", escape(str(row["why"]))) if row.get("why") else ""
    return _frame(tone, _head(str(row.get("state", "starting")), tone, folder), _bar(row, tone), course, why)


def live_text(row: Mapping[str, Any], *, folder: str, since_s: float) -> str:
    why = [str(row["why"])] if row.get("why") else []
    return f"holdfast: {row.get('state', 'starting')} · " + " · ".join([*_facts(row, since_s), *why, folder])


def verdict_html(verdict: Mapping[str, Any], row: Mapping[str, Any], *, folder: str, since_s: float) -> str:
    """The end: the finding with its evidence and what to do, or that nothing speaks against the run."""
    outcome = str(verdict.get("outcome", ""))
    first: Mapping[str, Any] = next(iter(verdict.get("findings", [])), {})
    blames = bool(first) and not first.get("normal") and first.get("strength") != "possible"
    tone = _WARN if blames and outcome in ("finished", "ended") else _TONES.get(outcome, _BAD)
    summary = str(verdict.get("summary") or " · ".join(_facts(row, since_s)))
    return _frame(
        tone,
        _head(outcome, tone, folder),
        _styled("div", f"color:{_SOFT}", escape(summary)),
        _finding(first) if first else "<b>Nothing speaks against this run.</b>",
        _listed("the framework warned", [str(one.get("fact", "")) for one in verdict.get("warned", [])]),
        _listed("also", [_also(one) for one in verdict.get("findings", [])[1:]]),
        _listed("since the last good run", [str(one) for one in verdict.get("since_last_good", [])]),
    )


def verdict_bundle(
    verdict: Verdict, row: Mapping[str, Any], *, folder: str, since_s: float
) -> dict[str, str]:
    """As HTML, and as `holdfast explain` prints it."""
    html = verdict_html(as_json(verdict), row, folder=folder, since_s=since_s)
    return {"text/html": html, "text/plain": render(verdict).rstrip("\n")}


def _finding(first: Mapping[str, Any]) -> str:
    tags = f"{first.get('cause', '')} · {first.get('strength', '')}"
    return "".join(
        [
            _styled("div", "font-size:15px;font-weight:600;margin:2px 0", _marked(first.get("title", ""))),
            _styled("div", f"color:{_SOFT};{_CODE}", escape(tags)),
            _section("do", [_remedy(one) for one in first.get("remedies", [])]),
            _listed("because", [str(one.get("fact", "")) + _source(one) for one in first.get("because", [])]),
            _listed("against", [str(one.get("fact", "")) for one in first.get("against", [])]),
        ]
    )


def _remedy(one: Mapping[str, Any]) -> str:
    style = f"{_CODE};margin:2px 0 4px;padding:4px 8px;background:#8a94a31f"
    code = _styled("pre", style, escape(str(one["code"]))) if one.get("code") else ""
    return _marked(one.get("do", "")) + code


def _source(fact: Mapping[str, Any]) -> str:
    return f"  [{fact['source']}]" if fact.get("source") else ""


def _also(finding: Mapping[str, Any]) -> str:
    return f"{finding.get('cause', '')} ({finding.get('strength', '')}): {finding.get('title', '')}"


def _listed(title: str, texts: Sequence[str]) -> str:
    return _section(title, [_marked(text) for text in texts[:_MOST_FACTS]])


def _section(title: str, items: Sequence[str]) -> str:
    """`items` are HTML already."""
    if not items:
        return ""
    listed = _styled("ul", "margin:0;padding-left:1.3em", *(f"<li>{item}</li>" for item in items))
    return _styled("div", "margin-top:4px", f"<b>{title}</b>", listed)


def _marked(text: object) -> str:
    """Escaped, with what is in backticks as code."""
    parts = escape(clipped(str(text), 600)).split("`")
    if len(parts) % 2 == 0:
        return "`".join(parts)
    return "".join(
        f'<code style="{_CODE}">{part}</code>' if at % 2 else part for at, part in enumerate(parts)
    )


def _styled(tag: str, style: str, *inner: str) -> str:
    return f'<{tag} style="{style}">{"".join(inner)}</{tag}>'


def _frame(tone: str, *inner: str) -> str:
    return _styled("div", _FRAME.format(tone=tone), *inner)


def _head(state: str, tone: str, folder: str) -> str:
    named = _styled("b", f"color:{tone}", "● " + escape(state))
    where = _styled("span", f"color:{_SOFT};{_CODE}", escape(folder))
    return _styled("div", "display:flex;justify-content:space-between;gap:16px", named, where)


def _bar(row: Mapping[str, Any], tone: str) -> str:
    if not row.get("of"):
        return ""
    share = min(100.0, 100.0 * float(row.get("step", 0)) / float(row["of"]))
    part = _styled("div", f"width:{share:.1f}%;height:5px;background:{tone}")
    style = "height:5px;border-radius:3px;background:#8a94a333;margin:5px 0;overflow:hidden"
    return _styled("div", style, part)


def _facts(row: Mapping[str, Any], since_s: float) -> list[str]:
    step, of = row.get("step"), row.get("of")
    memory, limit = row.get("memory"), row.get("memory_limit")
    gpu, total = row.get("gpu_memory"), row.get("gpu_total")
    loss = row.get("loss")
    known = [
        f"step {step:,}" + (f" of {of:,}" if of else "") if step else "no step yet",
        f"{duration(row['left_s'])} left" if row.get("left_s") is not None else "",
        f"loss {loss:.4g}" if isinstance(loss, int | float) else "",
        size(memory) + (f" of {size(limit)}" if limit else "") + " RAM" if memory else "",
        f"{size(gpu)} of {size(total)} GPU memory" if total else "",
        long_duration(since_s),
    ]
    return [one for one in known if one]


def _spark(values: Sequence[float], tone: str) -> str:
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)
    points = " ".join(
        f"{at * 150 / (len(values) - 1):.1f},{28 - 26 * ((value - low) / (high - low) if high > low else 0.5):.1f}"
        for at, value in enumerate(values)
    )
    return (
        '<svg width="150" height="30" viewBox="0 0 150 30" role="img" aria-label="loss">'
        f'<polyline points="{points}" fill="none" stroke="{tone}" stroke-width="1.5"/></svg>'
    )
