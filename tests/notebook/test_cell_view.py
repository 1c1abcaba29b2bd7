"""How a run looks under a cell."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from holdfast.explain.finding import Fact, Finding, Outcome, Remedy, Strength, Title, Verdict
from holdfast.notebook import cell_view

ROW = {
    "state": "running",
    "step": 120,
    "of": 480,
    "loss": 0.5,
    "losses": [3.0, 1.0, 0.5],
    "left_s": 36,
    "memory": 2**30,
}
HOSTILE = "<script>alert(1)</script>"


class _Open(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(html: str) -> set[str]:
    parser = _Open()
    parser.feed(html)
    assert parser.open == [], "each is closed"
    return set(parser.tags)


def verdict(title: Title, **more: Any) -> Verdict:
    finding = Finding(
        Strength.ESTABLISHED, title, [Fact("output.last-line", {"text": HOSTILE}, "output.log:3")],
        [Remedy("unknown.send-the-folder")], cause="script-error",
    )  # fmt: skip
    return Verdict(run="r", outcome=Outcome.FAILED, step=3, of=9, summary=(), findings=(finding,), **more)


def test_a_run_that_goes_on() -> None:
    html = cell_view.live_html(ROW, folder="runs/x-1", since_s=12.0)
    assert tags(html) == {"div", "b", "span", "svg", "polyline"}
    assert "width:25.0%" in html
    assert 'points="0.0,2.0 75.0,22.8 150.0,28.0"' in html
    text = cell_view.live_text(ROW, folder="runs/x-1", since_s=12.0)
    assert (
        text == "holdfast: running · step 120 of 480 · 36 s left · loss 0.5 · 1.0 GiB RAM · 12.0 s · runs/x-1"
    )


def test_before_the_first_step_and_stalled() -> None:
    assert "no step yet" in cell_view.live_text({}, folder="r", since_s=1.0)
    stalled = cell_view.live_html({**ROW, "state": "stalled", "why": HOSTILE}, folder="r", since_s=1.0)
    assert "&lt;script&gt;" in stalled and "script" not in tags(stalled)


def test_what_a_program_printed_is_text() -> None:
    html = cell_view.verdict_bundle(
        verdict(Title("unknown", {"outcome": "failed"})), {}, folder=HOSTILE, since_s=1.0
    )["text/html"]
    assert tags(html) <= {"div", "b", "span", "ul", "li", "code", "pre"}
    assert not re.search(r"<script|<style|https?:", html), (
        "neither scripts nor style sheets nor anything from elsewhere"
    )


def test_a_run_without_a_finding() -> None:
    fine = Verdict(run="r", outcome=Outcome.FINISHED, step=9, of=9, summary=(), findings=())
    assert (
        "Nothing speaks against this run"
        in cell_view.verdict_bundle(fine, ROW, folder="r", since_s=1.0)["text/html"]
    )
