"""The page of a run: what is in it, what cannot break out of it, and what a browser makes of it."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.journal.folder import RunFolder
from holdfast.report import html, redact, story
from holdfast.report.series import rates, thin
from tests.report.made import run_folder

VERDICT: dict[str, Any] = {
    "outcome": "stalled",
    "step": 299,
    "of": 300,
    "summary": "it stands at step 299 of 300",
    "findings": [
        {
            "cause": "input-blocked",
            "strength": "supported",
            "title": "The generator at /home/ann/train.py:41 waits <b>for ever</b>",
            "because": [{"fact": "the thread waits", "source": "stacks/0001-stall.json"}],
            "against": [],
            "remedies": [{"do": "set a timeout", "safety": "your-choice", "code": "s.settimeout(30)"}],
        }
    ],
    "ruled_out": [{"cause": "swapping", "why": "no major faults"}],
    "since_last_good": ["batch 8 → 16"],
}


def data_of(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="story">(.*?)</script>', page, re.S)
    assert match
    loaded: dict[str, Any] = json.loads(match[1])
    return loaded


def test_extremes_survive_thinning() -> None:
    points = [(float(i), math.sin(i / 1000)) for i in range(1_000_000)]
    points[123_456] = (123_456.0, 99.0)
    points[654_321] = (654_321.0, -99.0)
    points[777_777] = (777_777.0, math.nan)
    thinned = thin(points)
    assert len(thinned) <= 2100
    assert (123_456.0, 99.0) in thinned
    assert (654_321.0, -99.0) in thinned
    assert any(math.isnan(value) for _, value in thinned)
    assert thinned[0] == points[0]
    assert thinned[-1] == points[-1]
    assert [at for at, _ in thinned] == sorted(at for at, _ in thinned)


def test_a_short_series_is_left_alone() -> None:
    assert thin([(0.0, 1.0), (1.0, 2.0)]) == [(0.0, 1.0), (1.0, 2.0)]
    assert thin([]) == []


def test_rates_of_a_counter_that_restarts() -> None:
    assert rates([(0, 0), (1, 5), (2, 15), (3, 2), (4, 4)]) == [(1, 5.0), (2, 10.0), (4, 2.0)]


def test_the_story_has_the_numbers_of_the_run(tmp_path: Path) -> None:
    told = story.tell(run_folder(tmp_path / "r"))
    charts = {chart.title: chart for chart in told.charts}
    memory = {series.name: series for series in charts["Memory of the host"].series}
    assert memory["process"].points[0] == (0.0, 2.0**30)
    assert memory["limit"].points[-1][1] == 4 * 2.0**30
    assert memory["limit"].dashed
    step_time = {series.name: series.points[-1][1] for series in charts["Time of a step"].series}
    assert step_time["waiting for data"] == pytest.approx(0.3)
    assert step_time["computing"] == pytest.approx(0.6)
    assert {series.name for series in charts["Loss and its parts"].series} == {"loss", "box", "class"}
    assert told.duration_s == 299
    assert [mark.label for mark in told.marks if mark.kind == "stall"] == ["stalled in step at step 300"]
    assert "/home/ann/train.py:41 batches" in told.stacks[0][1]


def test_a_folder_with_an_output_log_alone_still_makes_a_page(tmp_path: Path) -> None:
    (tmp_path / "output.log").write_text("Epoch 1/3\nKilled\n")
    page = html.render(story.tell(RunFolder(tmp_path)), {"outcome": "killed", "findings": []})
    assert "Killed" in page
    assert "There are no measurements" in page


def test_nothing_from_the_user_breaks_out_of_the_page(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "<img src=x onerror=alert(1)>")
    page = html.render(story.tell(folder), VERDICT)
    assert "<img src=x" not in page
    assert "</script><script>alert(1)" not in page
    assert "<b>for ever</b>" not in page
    assert page.count("<script") == 3
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="', page), "a page that is read offline fetches nothing"


def test_a_loss_that_is_not_finite_is_a_gap_and_a_mark(tmp_path: Path) -> None:
    page = html.render(story.tell(run_folder(tmp_path / "r", end="nan")), {"outcome": "finished"})
    data = data_of(page)
    loss = next(chart for chart in data["charts"] if chart["title"].startswith("Loss"))
    assert any(value is None for series in loss["series"] for _, value in series["points"])
    assert any(mark["kind"] == "nan" for mark in data["marks"])


def test_redacted_pages_hold_no_paths_hosts_or_environment(tmp_path: Path) -> None:
    told = story.tell(run_folder(tmp_path / "r"))
    page = html.render(redact.story(told), redact.anything(VERDICT, told.host))
    for secret in ("/home/ann", "a-host", "secret", "TF_X", "alert(1)"):
        assert secret not in page
    assert "…/train.py:41" in page


@pytest.mark.parametrize(
    ("whole", "shorter"),
    [
        ("at /home/ann/a b", "at …/a b"),
        ("gs://bucket/data/x.tfrecord is gone", "…/x.tfrecord is gone"),
        ("1/3 of 4/5", "1/3 of 4/5"),
        ("~/work/train.py:3", "…/train.py:3"),
        ("on a-host.example", "on (host)"),
    ],
)
def test_what_redaction_makes_of_a_text(whole: str, shorter: str) -> None:
    assert redact.text(whole, "a-host.example") == shorter


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("end", ["stall", "nan", "finished"])
def test_a_browser_draws_every_chart_without_an_error(tmp_path: Path, end: str) -> None:
    page = tmp_path / "report.html"
    told = story.tell(run_folder(tmp_path / "r", end=end))
    page.write_text(html.render(told, VERDICT))
    done = subprocess.run(
        [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking",
         "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
         "--enable-logging=stderr", "--v=0", "--virtual-time-budget=4000", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert f'data-drawn="{len(told.charts)}"' in done.stdout, done.stderr[-2000:]
    assert done.stdout.count("<canvas") == len(told.charts)
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]
