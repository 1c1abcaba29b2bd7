"""The page in a real browser: it follows, filters, opens, compares and archives; by mouse, by keyboard, on a phone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.board.board_server import Board
from holdfast.journal.folder import RunFolder
from tests.board.asking import Asking
from tests.board.made_board import Writers, make_board
from tests.report.made import run_folder
from tests.waiting import PATIENCE_S


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Asking, list[RunFolder], Writers]]:
    """Twenty-four runs, three of which are live; one of these has stalled."""
    root = tmp_path_factory.mktemp("board")
    made = make_board(root / "runs", 24, live=3, seconds=60)
    writers = Writers(made[:3])
    board = Board([root / "runs"], memory=root / "board.json")
    threading.Thread(target=board.serve, daemon=True).start()
    yield Asking(board, root / "runs"), made, writers
    writers.close()
    board.close()


@pytest.fixture
def page(many: tuple[Asking, list[RunFolder], Writers], tab: Any) -> Any:
    many[0].rows(least=24)
    tab.goto(many[0].board.address)
    until(tab, "document.body.dataset.complete")
    return tab


def until(page: Any, condition: str) -> None:
    """Asked from outside of the page: its policy forbids to evaluate texts in it."""
    end = time.monotonic() + PATIENCE_S
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


def names(page: Any) -> list[str]:
    found: list[str] = page.locator(".row .name").all_text_contents()
    return found


def test_what_needs_somebody_is_first(page: Any) -> None:
    groups = page.locator(".group h2").all_text_contents()
    assert [group.lower() for group in groups] == ["needs you", "running", "earlier"]
    assert names(page)[0] == "finetune-3", "the one that has stalled"
    assert "no progress in step at step 2,396" in page.locator(".row").first.inner_text()
    assert page.title().startswith("(")


def test_it_follows_without_being_loaded_again(page: Any, many: Any) -> None:
    steps = page.locator('[data-id="train_ssd-1"] .steps > span')
    before = steps.get_attribute("title")
    until(page, f"document.querySelector('[data-id=train_ssd-1] .steps > span').title !== '{before}'")
    run_folder(many[0].root / "fresh", steps=9)
    page.locator('[data-id="fresh"]').wait_for()


def test_live_rows_stay_where_they_are(page: Any) -> None:
    """By when they began: each of them has changed last now and then."""
    ordered = """async (changed) => {
        const app = document.querySelector('script[type=module]').src;
        const { RunStore } = await import(app.replace('app.js', 'run_store.js'));
        const run = (id, began, at) => ({ id, live: true, state: 'running', began, changed: at });
        const runs = [run('early', 1, changed), run('late', 2, 50), { id: 'ended', state: 'finished', changed: 99 }];
        return new RunStore().sort(runs, 'newest').map((one) => one.id);
    }"""
    assert [page.evaluate(ordered, changed) for changed in (49, 51)] == [["late", "early", "ended"]] * 2


def test_filters(page: Any) -> None:
    page.locator("#states [data-kind=failed]").click()
    states = set(page.locator(".row .state").all_text_contents())
    assert states and states <= {"failed", "killed", "not watched"}
    page.keyboard.press("0")
    for text, fits in [
        ("cause:memory-leak", "KeepFeatures"),
        ("state:stopped", "EarlyStopping"),
        ("learning rate of", "0.08"),
    ]:
        page.keyboard.press("/")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        rows = page.locator(".row").all_text_contents()
        assert rows and all(fits in row for row in rows), text
        page.keyboard.press("0")
    page.locator("#script").select_option("segment.py")
    assert all(name.startswith("segment") for name in names(page))
    page.keyboard.press("0")
    page.locator("#find").fill("/^train_ssd-(5|9)$/ -5")
    assert names(page) == ["train_ssd-9"]
    page.locator("#find").fill("loss<0.0001")
    assert page.locator("#nothing").inner_text() == "No run fits the filters."
    for text, mistake in [
        ("kause:leak", "There is no field kause: cause, script, state, host, place, name."),
        ("speed>4", "There is no number speed: loss, step, memory, gpu, left."),
        ("loss<low", "low is no number."),
        ("-/[/ nothing", "/[/ is no regular expression."),
    ]:
        page.locator("#find").fill(text)
        assert page.locator("#nothing").inner_text() == "No run fits the filters. " + mistake
    page.locator("#find").fill("")
    page.locator("#sort").select_option("loss")
    losses = [float(text) for text in page.locator(".row .loss b").all_text_contents()]
    assert losses == sorted(losses) and len(losses) > 20


def test_a_run_opens_with_its_verdict_its_curves_and_its_machine(page: Any) -> None:
    page.locator("#find").fill("cause:memory-leak")
    page.locator(".row").first.click()
    pane = page.locator("#pane")
    pane.locator(".finding.first h3", has_text="KeepFeatures.features keeps 4.4 MiB a step").wait_for()
    text = pane.inner_text()
    assert "history.append(float(loss))" in text
    assert "(train.py:6), a list, grew by 940 MiB" in text
    until(page, "document.querySelectorAll('.chart canvas').length >= 8")
    titles = pane.locator(".chart figcaption > b").all_text_contents()
    assert titles[:2] == ["loss", "box"]
    assert {"CPU", "RAM", "disk free", "step time"} <= set(titles)
    assert "python train_ssd.py" in pane.locator(".command").inner_text()
    assert "#run=" in page.url
    page.reload()
    pane.locator(".finding.first").wait_for(), "the address has what is open"
    page.keyboard.press("Escape")
    assert not pane.is_visible()


def test_curves_of_several_runs(page: Any) -> None:
    for name in ("train_ssd-1", "finetune-3", "train_ssd-5"):
        page.get_by_label("tick " + name, exact=True).check()
    assert page.locator("#ticked b").inner_text() == "3 ticked"
    page.keyboard.press("c")
    until(page, "document.querySelectorAll('.chart canvas').length >= 5")
    assert page.locator(".legend a").all_text_contents() == ["train_ssd-1", "finetune-3", "train_ssd-5"]
    ticks = page.locator('.chart[data-title="loss"]')
    before = ticks.screenshot()
    for key in ("m", "l", "]"):
        page.keyboard.press(key)
    until(page, "document.querySelector('.curves').dataset.smoothing === '0.1'")
    pressed = page.locator(".choice [aria-pressed=true]").all_text_contents()
    assert pressed == ["time", "log"]
    assert ticks.screenshot() != before
    box = ticks.locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "train_ssd-1" in page.locator(".tip:visible").first.inner_text()
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 20)
    page.mouse.up()
    page.get_by_role("button", name="everything").click()
    for key in ("m", "l", "["):
        page.keyboard.press(key)


def test_two_runs_compared(page: Any) -> None:
    page.get_by_label("tick train_ssd-5", exact=True).check()
    page.get_by_label("tick finetune-7", exact=True).check()
    page.keyboard.press("d")
    table = page.locator(".compared table")
    table.wait_for()
    assert "python train_ssd.py --lr 0.001" in table.inner_text()
    assert page.locator(".chart canvas").count() >= 5


def test_a_run_without_steps_compared(page: Any, many: Any) -> None:
    run_folder(many[0].root / "no-steps", steps=0)
    page.locator('[data-id="no-steps"]').wait_for(timeout=30_000)
    page.get_by_label("tick train_ssd-5", exact=True).check()
    page.get_by_label("tick no-steps", exact=True).check()
    page.keyboard.press("d")
    row = page.locator(".compared tr", has=page.locator("th", has_text="a step"))
    row.wait_for(timeout=60_000)
    assert row.locator("td").all_text_contents()[1] == "–"


def test_hiding_and_archiving(page: Any, many: Any) -> None:
    asking = many[0]
    page.get_by_label("tick segment-4", exact=True).check()
    page.keyboard.press("h")
    until(page, "!document.querySelector('[data-id=\"segment-4\"]')")
    page.keyboard.press("0")
    page.locator('[data-id="segment-4"]').wait_for()
    before = sorted(path.name for path in (asking.root / "segment-8").iterdir())
    page.get_by_label("tick segment-8", exact=True).check()
    page.keyboard.press("e")
    until(page, "!document.querySelector('[data-id=\"segment-8\"]')")
    page.reload()
    until(page, "document.body.dataset.complete")
    assert "segment-8" not in names(page)
    page.keyboard.press("a")
    assert names(page) == ["segment-8"]
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.locator("#nothing", has_text="Nothing is archived").wait_for()
    page.keyboard.press("a")
    page.locator('[data-id="segment-8"]').wait_for()
    assert sorted(path.name for path in (asking.root / "segment-8").iterdir()) == before


def test_the_keyboard_alone(page: Any) -> None:
    page.keyboard.press("n")
    page.locator("#pane h1", has_text="finetune-3").wait_for()
    page.keyboard.press("j")
    second = page.locator(".row.cursor .name").inner_text()
    page.locator("#pane h1", has_text=second).wait_for()
    page.keyboard.press("?")
    assert "next run that needs you" in page.locator("#keys").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert not page.locator("#pane").is_visible()


def test_dark_and_a_phone(many: Any, chromium: Any) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    context.set_default_timeout(1000 * PATIENCE_S)
    page = context.new_page()
    page.goto(many[0].board.address)
    until(page, "document.body.dataset.complete")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(17, 21, 27)"
    wide = "document.documentElement.scrollWidth <= innerWidth"
    assert page.evaluate(wide)
    page.locator(".row").first.click()
    page.locator("#pane .finding").first.wait_for()
    assert page.evaluate(wide)
    assert not page.locator("#runs").is_visible()
    page.get_by_role("button", name="close").first.click()
    assert page.locator("#runs").is_visible()
    context.close()


def test_names_with_markup_are_text(serving: Asking, tab: Any) -> None:
    serving.rows(least=2)
    tab.goto(serving.board.address)
    tab.locator(".row", has_text="<script>alert(1)<").first.click()
    tab.locator("#pane .finding").first.wait_for()
    assert tab.locator("#pane h1").inner_text() == "<script>alert(1)<"


def test_a_board_that_ended_is_said(tmp_path: Path, chromium: Any) -> None:
    tab = chromium.new_page()
    tab.set_default_timeout(1000 * PATIENCE_S)
    run_folder(tmp_path / "runs" / "a", steps=9)
    board = Board([tmp_path / "runs"], memory=tmp_path / "board.json")
    thread = threading.Thread(target=board.serve, daemon=True)
    thread.start()
    tab.goto(board.address)
    until(tab, "document.body.dataset.complete")
    board.close()
    thread.join(PATIENCE_S)
    tab.locator("#trouble", has_text="The board does not answer").wait_for()
    assert tab.locator(".row").count() == 1, "what was known stays"
    tab.close()
