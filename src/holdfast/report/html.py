"""One self-contained HTML file: opens offline from a file manager, in light and dark, and can be printed.

Everything that came from a user (names, paths, logs, class names) goes through `escape` or through JSON
whose `<` cannot end a script element. A content policy forbids the page to fetch anything.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from importlib import resources
from typing import Any

from holdfast.report import evaluation
from holdfast.report.series import Chart, Mark
from holdfast.report.story import RunTimeline
from holdfast.units import long_duration

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_GOOD, _WARN = ("finished", "running"), ("stopped-early",)


def render(story: RunTimeline, verdict: Mapping[str, Any]) -> str:
    """The page. `verdict` is the object that `holdfast explain --json` prints."""
    title = f"{story.name} · {verdict.get('outcome', '')}"
    return _page(title, render_main(story, verdict), numbers(story.charts, story.marks))


def _page(title: str, body: str, data: str) -> str:
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>{escape(title)} · Holdfast</title>",
            f"<style>{_asset('uplot.css')}\n{_asset('page.css')}</style></head>",
            f"<body><main>{body}</main>",
            f'<script type="application/json" id="story">{data}</script>',
            f"<script>{_asset('uplot.js')}</script><script>{_asset('page.js')}</script>",
            "</body></html>",
        ]
    )


def render_main(story: RunTimeline, verdict: Mapping[str, Any]) -> str:
    """All that is read; what is drawn from `numbers` finds its place in it."""
    return "\n".join(
        [
            _head(story, verdict),
            _verdict(verdict),
            _charts(story.charts),
            evaluation.validation(story.validation),
            _folded("Stacks", story.stacks),
            _changes(verdict),
            evaluation.dataset(story.dataset),
            _tables(story),
            _folded("Recipe", [("recipe.toml", story.recipe)] if story.recipe else []),
            _folded(
                "Output",
                [("the end of what it printed", story.output_tail)] if story.output_tail else [],
                opened=not story.charts,
            ),
        ]
    )


def _asset(name: str) -> str:
    return resources.files("holdfast.report").joinpath("page", name).read_text(encoding="utf-8")


def _head(story: RunTimeline, verdict: Mapping[str, Any]) -> str:
    outcome = str(verdict.get("outcome", "not known"))
    kind = "good" if outcome in _GOOD else "warn" if outcome in _WARN else "bad"
    first: Mapping[str, Any] = next(iter(verdict.get("findings", [])), {})
    if kind == "good" and not first.get("normal") and first.get("strength") in ("established", "supported"):
        kind = "warn"  # it reached its end, and that is not all
    step, of = verdict.get("step"), verdict.get("of")
    reached = "" if step is None else f"step {step:,}" + (f" of {of:,}" if of else "")
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(story.began_at)) if story.began_at else ""
    facts = [
        one
        for one in (
            reached,
            long_duration(story.duration_s) if story.duration_s else "",
            f"began {began}" if began else "",
            story.host,
        )
        if one
    ]
    command = f"<p><code>{escape(story.command)}</code></p>" if story.command else ""
    return (
        f'<header><h1>{escape(story.name)} <span class="outcome {kind}">{escape(outcome)}</span></h1>'
        f'<p class="soft">{escape(" · ".join(facts))}</p>{command}</header>'
    )


def _verdict(verdict: Mapping[str, Any]) -> str:
    findings = verdict.get("findings", [])
    runs = verdict.get("outcome") in ("running", "stalled")
    parts = [f"<section><h2>{'Where it is' if runs else 'Why it ended'}</h2>"]
    if verdict.get("summary"):
        parts.append(f"<p>{escape(str(verdict['summary']))}</p>")
    warned = "".join(f"<li>{_fact(one)}</li>" for one in verdict.get("warned", []))
    if not findings and not warned:
        parts.append('<div class="finding normal"><h3>Nothing speaks against this run</h3></div>')
    parts += [_finding(one, first=number == 0) for number, one in enumerate(findings)]
    if warned:
        parts.append(f'<div class="finding"><h3>What the framework warned of</h3><ul>{warned}</ul></div>')
    ruled_out = verdict.get("ruled_out", [])
    if ruled_out:
        rows = "".join(
            f"<tr><th>{escape(one['cause'])}</th><td>{escape(one['why'])}</td></tr>" for one in ruled_out
        )
        parts.append(
            f"<details><summary>What was ruled out ({len(ruled_out)})</summary><table>{rows}</table></details>"
        )
    known = [one for one in verdict.get("known", []) if one.get("fact")]
    if known:
        items = "".join(f"<li>{_fact(one)}</li>" for one in known)
        parts.append(
            f"<details><summary>What else is known ({len(known)})</summary><ul>{items}</ul></details>"
        )
    return "".join(parts) + "</section>"


def _finding(finding: Mapping[str, Any], *, first: bool) -> str:
    kind = "normal" if finding.get("normal") else "first" if first else ""
    rows = [
        ("because", [_fact(one) for one in finding.get("because", [])]),
        ("against", [_fact(one) for one in finding.get("against", [])]),
        ("do", [_remedy(one) for one in finding.get("remedies", [])]),
        ("led to", [escape(str(finding["led_to"]))] if finding.get("led_to") else []),
    ]
    listed = "".join(
        f"<dt>{name}</dt><dd><ul>{''.join(f'<li>{item}</li>' for item in items)}</ul></dd>"
        for name, items in rows
        if items
    )
    return (
        f'<div class="finding {kind}"><h3>{_text(finding, "title")}</h3>'
        f'<span class="soft small">{_text(finding, "cause")} · {_text(finding, "strength")}</span>'
        f"<dl>{listed}</dl></div>"
    )


def _text(values: Mapping[str, Any], name: str) -> str:
    return escape(str(values.get(name, "")))


def _marked(text: object) -> str:
    """Escaped, with what is in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(str(text)))


def _fact(fact: Mapping[str, Any]) -> str:
    source = f' <span class="soft small">({escape(str(fact["source"]))})</span>' if fact.get("source") else ""
    return _marked(fact.get("fact", "")) + source


def _remedy(remedy: Mapping[str, Any]) -> str:
    code = f"<pre>{escape(str(remedy['code']))}</pre>" if remedy.get("code") else ""
    return (
        f'{_marked(remedy.get("do", ""))} <span class="soft small">({_text(remedy, "safety")})</span>{code}'
    )


def _charts(charts: Sequence[Chart]) -> str:
    if not charts:
        nothing = '<p class="soft">There are no measurements in this folder.</p>'
        return f'<section><h2>The run</h2>{nothing}<ul id="marks"></ul></section>'
    drawn = "".join(
        f'<div class="chart"><h3>{escape(_titled(chart))}</h3><div class="plot" data-chart="{number}"></div>'
        + (f'<p class="soft small">{escape(chart.note)}</p>' if chart.note else "")
        + "</div>"
        for number, chart in enumerate(charts)
    )
    hint = (
        '<p class="soft small">Drag over a chart to zoom all of them. <span id="zoom"><button type="button" '
        'data-share="1">everything</button> <button type="button" data-share="0.5">last half</button> '
        '<button type="button" data-share="0.1">last tenth</button></span></p>'
    )
    return f'<section><h2>The run</h2>{hint}<ul id="marks"></ul><div class="charts">{drawn}</div></section>'


def _titled(chart: Chart) -> str:
    return chart.title if chart.unit in ("1", "bytes", "s") else f"{chart.title}, {chart.unit}"


def _changes(verdict: Mapping[str, Any]) -> str:
    changes = verdict.get("since_last_good", [])
    if not changes:
        return ""
    items = "".join(f"<li>{escape(str(one))}</li>" for one in changes)
    return f"<section><h2>What changed since the last good run</h2><ul>{items}</ul></section>"


def _tables(story: RunTimeline) -> str:
    parts = []
    for title, rows in story.tables.items():
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
        parts.append(f"<details><summary>{escape(title)}</summary><table>{cells}</table></details>")
    return f"<section><h2>What it was</h2>{''.join(parts)}</section>" if parts else ""


def _folded(title: str, texts: list[tuple[str, str]], *, opened: bool = False) -> str:
    if not texts:
        return ""
    parts = "".join(
        f"<details{' open' if opened else ''}><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"
        for name, text in texts
    )
    return f"<section><h2>{escape(title)}</h2>{parts}</section>"


def numbers(charts: Sequence[Chart], marks: Sequence[Mark]) -> str:
    """The charts and marks as JSON that can stand inside a script element."""
    data = {
        "charts": [
            {
                **asdict(chart),
                "series": [{**asdict(s), "points": [_pair(*p) for p in s.points]} for s in chart.series],
            }
            for chart in charts
        ],
        "marks": [asdict(mark) for mark in marks],
    }
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")


def _pair(at: float, value: float) -> list[float | None]:
    return [round(at, 3), float(f"{value:.6g}") if math.isfinite(value) else None]
