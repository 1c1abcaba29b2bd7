"""Every command and code block in README and docs is tried, page by page, in the order in which it is read."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import tomllib
from pathlib import Path

import pytest

from holdfast import settings
from tests.docs import blocks, world
from tests.docs.blocks import DATA, MODES, ROOT, SHELL, TEXT, Block
from tests.waiting import PATIENCE_S

ALL = blocks.all_blocks()
PAGES = sorted({block.page for block in ALL})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world.make(tmp_path_factory.mktemp("docs") / "world")


@pytest.fixture(scope="module")
def trained(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("docs") / "trained", symlinks=True))
    world.train(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "here", symlinks=True))


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_to_type_works(page: str, folder: Path) -> None:
    for block in _of(page):
        if block.mode in ("", "fails", "server"):
            _try(block, folder, timeout_s=3 * PATIENCE_S)


@pytest.mark.hot
@pytest.mark.proof
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(b.mode == "slow" for b in ALL if b.page == page)]
)
def test_what_takes_longer_works_too(page: str, trained: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "here", symlinks=True))
    for block in _of(page):
        if block.mode not in ("norun", "elsewhere"):
            _try(block, folder, timeout_s=900)


def _of(page: str) -> list[Block]:
    return [block for block in ALL if block.page == page]


def _try(block: Block, folder: Path, *, timeout_s: float) -> None:
    if block.language in SHELL and block.mode == "server":
        _serve(block, folder)
    elif block.language in SHELL:
        typed = world.placed(block.commands, block.line)
        for commands in typed.splitlines() if block.mode == "fails" else [typed]:
            done = world.run(commands, folder, timeout_s=timeout_s)
            expected = (0, 1) if block.mode == "fails" else (0,)
            assert done.returncode in expected, f"{block.name}: exit code {done.returncode}\n{done.stdout}"
            assert "Traceback" not in done.stdout, f"{block.name}\n{done.stdout}"
    elif block.language == "python":
        script = folder / "block.py"
        script.write_text(block.text)
        done = world.run("python block.py", folder, timeout_s=timeout_s)
        assert done.returncode == 0, f"{block.name}\n{done.stdout}"
    elif block.language == "toml":
        given = tomllib.loads(block.text)
        given.setdefault("data", {}).setdefault("train", "data/train")
        settings.resolve(given, [])
    elif block.language == "json":
        json.loads(block.text)


def _serve(block: Block, folder: Path) -> None:
    """It says where it serves, and Ctrl-C ends it."""
    command = ["bash", "-c", f"exec {block.commands}"]
    with subprocess.Popen(
        command, cwd=folder, env=world.environment(folder), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith(b"http://127.0.0.1:"), block.name
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=PATIENCE_S)
    assert process.returncode == 0, block.name


# -- the blocks themselves ----------------------------------------------------------------------------


@pytest.mark.parametrize("block", ALL, ids=lambda block: block.name)
def test_a_block_is_of_a_known_kind(block: Block) -> None:
    assert block.language in (*SHELL, *DATA, *TEXT, "python"), block.name
    assert block.mode in MODES, f"{block.name}: {block.mode}"
    explained = block.mode in ("norun", "elsewhere")
    assert bool(block.reason) == explained, (
        f"{block.name}: norun and elsewhere, and only these, have a reason"
    )
    assert block.mode != "elsewhere" or (ROOT / block.reason).exists(), (
        f"{block.name}: there is no {block.reason}"
    )
    assert not block.hides_a_command, f"{block.name} has a command in it: mark it as sh"


def test_few_blocks_cannot_be_tried() -> None:
    tried = [block for block in ALL if block.language in (*SHELL, "python")]
    not_tried = [block.name for block in tried if block.mode == "norun"]
    assert len(not_tried) <= max(4, len(tried) // 6), not_tried


def test_every_link_between_pages_leads_somewhere() -> None:
    lost = []
    for page in blocks.pages():
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
        for target, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
            if "://" in target or "/reference/" in f"/{target}":
                continue
            there = page.parent / target if target else page
            if not there.exists() or (heading and heading not in _headings(there)):
                lost.append(f"{page.relative_to(ROOT)}: {target}#{heading}")
    assert lost == []


def _headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MyST make them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
