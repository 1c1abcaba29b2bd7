"""The page of a run: what is in it, what cannot break out of it, and what a browser makes of it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from holdfast.journal import events, reader, vitals
from holdfast.journal.folder import RunFolder
from holdfast.journal.vitals import Sample
from holdfast.journal.writer import JournalWriter
from holdfast.report import charts, evaluation, html, redact, story
from holdfast.report.charts import with_gaps
from holdfast.report.series import Mark, paces, rates, thin
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
    told = story.read_timeline(run_folder(tmp_path / "r"))
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
    page = html.render(story.read_timeline(RunFolder(tmp_path)), {"outcome": "killed", "findings": []})
    assert "Killed" in page
    assert "There are no measurements" in page


def test_nothing_from_the_user_breaks_out_of_the_page(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "<img src=x onerror=alert(1)>")
    page = html.render(story.read_timeline(folder), VERDICT)
    assert "<img src=x" not in page
    assert "</script><script>alert(1)" not in page
    assert "<b>for ever</b>" not in page
    assert page.count("<script") == 3
    assert "default-src 'none'" in page
    fetched = re.findall(r'(?:src|href)="(?!data:|#)', page)
    assert fetched == [], "a page that is read offline fetches nothing"


def test_a_loss_that_is_not_finite_is_a_gap_and_a_mark(tmp_path: Path) -> None:
    page = html.render(story.read_timeline(run_folder(tmp_path / "r", end="nan")), {"outcome": "finished"})
    data = data_of(page)
    loss = next(chart for chart in data["charts"] if chart["title"].startswith("Loss"))
    assert any(value is None for series in loss["series"] for _, value in series["points"])
    assert any(mark["kind"] == "nan" for mark in data["marks"])


def test_redacted_pages_hold_no_paths_hosts_or_environment(tmp_path: Path) -> None:
    told = story.read_timeline(run_folder(tmp_path / "r"))
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
        ("~/project/train.py:3", "…/train.py:3"),
        ("on a-host.example", "on (host)"),
    ],
)
def test_what_redaction_makes_of_a_text(whole: str, shorter: str) -> None:
    assert redact.text(whole, "a-host.example") == shorter


def test_no_line_leads_from_one_attempt_to_the_next() -> None:
    assert with_gaps([(0.0, 1.0), (9.0, 2.0)], [5.0, 20.0])[1][0] == 5.0
    assert math.isnan(with_gaps([(0.0, 1.0), (9.0, 2.0)], [5.0])[1][1])
    assert with_gaps([], [5.0]) == []


def test_the_pace_of_slow_steps_is_taken_over_seconds_not_samples() -> None:
    """A step every 2 s, sampled every second: half a step a second, not 0, 1, 0, 1."""
    samples = [(float(at), float(max(0, at - 10) // 2)) for at in range(210)]
    found = paces(samples)
    assert found[0][0] > 10
    assert {round(rate, 1) for _, rate in found} <= {0.4, 0.5, 0.6}
    assert paces([(0.0, 0.0), (1.0, 0.0)]) == []


def test_the_first_step_of_an_attempt_does_not_flatten_the_others() -> None:
    samples = [
        Sample(mono=float(at), step=at, data_wait_s=at * 0.1, compute_s=at * 0.2 + (30.0 if at else 0.0))
        for at in range(20)
    ]
    chart = next(one for one in charts.build_charts([], samples, [], 0.0) if one.title == "Time of a step")
    assert chart.note == "Not drawn: the first steps of an attempt, which compile (30.3 s)."
    assert [s.name for s in chart.series] == ["waiting for data", "computing", "other"]
    assert chart.series[2].points[0] == (2.0, pytest.approx(0.7))
    assert {round(value, 3) for _, value in chart.series[1].points} == {0.2}


def test_the_memory_of_a_device_stands_beside_what_was_predicted(tmp_path: Path) -> None:
    now = iter([10.0, 20.0])
    journal = JournalWriter(tmp_path / "j", by="trainer", monotonic=lambda: next(now))
    journal.append(events.MemoryMeasured(measured_bytes=5, predicted_bytes=4, where="card"))
    journal.append(events.FitDone())
    samples = [Sample(mono=at, gpus=[{"used_bytes": 6, "total_bytes": 9}]) for at in (10.0, 20.0)]
    (chart,) = [
        one
        for one in charts.build_charts(reader.read(tmp_path / "j"), samples, [], 10.0)
        if "devices" in one.title
    ]
    lines = {one.name: (one.points, one.dashed) for one in chart.series}
    assert lines == {
        "used": ([(0.0, 6.0), (10.0, 6.0)], False),
        "limit": ([(0.0, 9.0), (10.0, 9.0)], True),
        "predicted": ([(0.0, 4.0), (10.0, 4.0)], True),
        "measured in the step": ([(0.0, 5.0), (10.0, 5.0)], False),
    }


def test_the_use_of_a_device_over_the_run_stands_with_its_mean(tmp_path: Path) -> None:
    shares = (None, 50, 100, 90)
    samples = [Sample(mono=10.0 + at, gpus=[{"utilisation": share}]) for at, share in enumerate(shares)]
    (chart,) = [
        one for one in charts.build_charts([], samples, [], 10.0) if one.title == "Use of the devices"
    ]
    assert chart.series[0].points == [(1.0, 0.5), (2.0, 1.0), (3.0, 0.9)]
    assert chart.note == "mean 80% over 3 samples"


def test_marks_of_a_long_run_are_few_and_what_went_wrong_stays() -> None:
    marks = story._thin_marks([Mark(float(at), "epoch", "") for at in range(10_000)])
    assert len(marks) == 100
    assert marks[-1].at == 9999.0


def test_a_run_of_a_million_steps_makes_a_small_page(tmp_path: Path) -> None:
    """Eleven days, a sample every fifty seconds, with one spike of memory and one of the loss."""
    folder = RunFolder(tmp_path / "long")
    folder.path.mkdir()
    with folder.vitals.open("wb") as file:
        for at in range(20_000):
            file.write(vitals.encode(Sample(
                at=1.7e9 + at * 50, mono=at * 50.0, step=at * 50, rss_bytes=77 * 2**30 if at == 14_321 else 2**30,
                data_wait_s=at, compute_s=at * 8.0, cpu_s=at * 15.0, loss=1e6 if at == 12_345 else 0.5)))  # fmt: skip
    page = html.render(story.read_timeline(folder), {"outcome": "finished", "findings": []})
    assert len(page) < 2_000_000
    data = data_of(page)
    points = {s["name"]: s["points"] for chart in data["charts"] for s in chart["series"]}
    assert [617_250.0, 1e6] in points["loss"]
    assert max(value for _, value in points["process"]) == pytest.approx(77 * 2**30, rel=1e-5)


# -- what was validated, and the data ----------------------------------------------------------------

IMAGE = {
    "name": "<b>.jpg", "width": 40, "height": 20, "jpeg": "", "missed": 1, "wrong": 1,
    "truth": [{"box": [0, 0, 10, 10], "name": "cat", "found": False}],
    "found": [{"box": [30, 0, 40, 10], "name": "<i>", "score": 0.5, "right": False}],
}  # fmt: skip
SHOWN: dict[str, Any] = {
    "step": 60, "numbers": {"AP": 0.25, "AP50": 0.5, "AP75": -1, "AR100": 0.5}, "images": 2, "boxes": 3,
    "score_above": 0.25, "class_count": 1,
    "classes": [{"name": "cat", "boxes": 3, "AP": 0.25, "AP50": 0.5, "AP75": -1,
                 "precision_at_recall": {"0.5": [1.0] * 101}}],
    "mistakes": {"right": 2, "missed": 1},
    "confusion": {"classes": ["cat", "background"], "true_by_found": [[2, 1], [1, 0]], "left_out": 0},
    "pictures": [IMAGE],
}  # fmt: skip


def test_a_validation_is_shown_with_its_curves_its_confusion_and_its_images() -> None:
    page = evaluation.validation(SHOWN)
    assert "Validation at step 60" in page
    assert "<b>0.250</b>AP<" in page
    assert page.count('class="curve"') == 1
    assert 'title="cat, found as background: 1"' in page
    assert "1 missed, 1 wrong" in page
    assert "&lt;b&gt;.jpg" in page
    assert "&lt;i&gt; 0.50" in page
    assert "<i>" not in page


@pytest.mark.parametrize(
    "spoilt",
    [
        {"step": 1},
        {**SHOWN, "images": "<script>"},
        {**SHOWN, "classes": None},
        {**SHOWN, "pictures": [{**IMAGE, "width": "40 onload=x"}]},
    ],
)
def test_a_file_that_is_not_what_the_trainer_writes_shows_nothing(spoilt: dict[str, Any]) -> None:
    assert evaluation.validation(spoilt) == ""
    assert evaluation.dataset({"train": spoilt, "validation": spoilt}) == ""


def test_an_image_that_is_no_base64_stays_out() -> None:
    page = evaluation.validation({**SHOWN, "pictures": [{**IMAGE, "jpeg": '"/><script>alert(1)</script>'}]})
    assert "script" not in page
    assert "blank" in page


def test_redacted_pages_have_no_images(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "r")
    folder.validation.write_text(json.dumps(SHOWN))
    told = story.read_timeline(folder)
    assert "worst first" in html.render(told, VERDICT)
    page = html.render(redact.story(told), VERDICT)
    assert "worst first" not in page
    assert "What was taken for what" in page


def test_a_run_that_reached_its_end_and_is_blamed_is_not_green(tmp_path: Path) -> None:
    told = story.read_timeline(run_folder(tmp_path / "r", steps=9))
    blamed = {**VERDICT, "outcome": "finished"}
    assert 'class="outcome warn">finished' in html.render(told, blamed)
    assert 'class="outcome good">finished' in html.render(told, {"outcome": "finished", "findings": []})


# -- in a browser -------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["stall", "nan", "finished"])
def test_a_browser_draws_every_chart(tmp_path: Path, end: str, tab: Any) -> None:
    page = tmp_path / "report.html"
    folder = run_folder(tmp_path / "<script>alert(1)<", end=end)
    folder.validation.write_text(json.dumps(SHOWN))
    told = story.read_timeline(folder)
    page.write_text(html.render(told, VERDICT))
    tab.goto(page.as_uri())
    assert tab.locator("canvas").count() == len(told.charts)
    assert tab.evaluate("document.body.dataset.drawn") == str(len(told.charts))
    assert tab.locator("h1").inner_text().startswith("<script>alert(1)<")
    assert tab.locator("figure svg").count() == 2


def test_a_chart_answers_the_pointer_and_zooms_all(tmp_path: Path, tab: Any) -> None:
    page = tmp_path / "report.html"
    page.write_text(html.render(story.read_timeline(run_folder(tmp_path / "r")), VERDICT))
    tab.goto(page.as_uri())
    first, memory = tab.locator(".u-over").first, tab.locator(".chart", has_text="Memory of the host")
    assert "at the end" in memory.locator(".u-legend").inner_text()
    assert "4.0 GiB" in memory.locator(".u-legend").inner_text(), (
        "without a pointer the last values stand there"
    )
    box = first.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 50)
    assert "2:2" in memory.locator(".u-legend").inner_text(), "hovering one chart reads all of them"
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 60, steps=4)
    tab.mouse.up()
    low, high = (float(one) for one in tab.evaluate("document.body.dataset.zoom").split())
    assert 140 < low < 160
    assert 215 < high < 235
    tab.get_by_role("button", name="everything").click()
    assert tab.evaluate("document.body.dataset.zoom") == ""
    before = first.screenshot()
    tab.get_by_role("button", name="linear").first.click()
    assert tab.locator(".u-over").first.screenshot() != before


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1200, True)])
def test_nothing_is_wider_than_the_window(tmp_path: Path, width: int, dark: bool, tab: Any) -> None:
    page = tmp_path / "report.html"
    folder = run_folder(tmp_path / ("a-very-long-name" * 9))
    folder.validation.write_text(json.dumps(SHOWN))
    page.write_text(html.render(story.read_timeline(folder), VERDICT))
    tab.set_viewport_size({"width": width, "height": 800})
    tab.emulate_media(color_scheme="dark" if dark else "light")
    tab.goto(page.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(18, 22, 28)" if dark else "rgb(255, 255, 255)")
