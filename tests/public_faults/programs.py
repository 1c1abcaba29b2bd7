"""The tables of both halves: which program has which fault, and where its corrected version is."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
HALVES = ("development", "score")
REPOSITORIES = (
    "ali-ghanbari/deepmufl-ase-2023", "Wardat-ISU/DeepLocalize", "dlfaults/HowRealAreThey", "mohmehmo/defects4ml",
    "ArabelaTso/DeepFD",
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    name: str  # id of the post or bug, and of the set where several have it
    repository: str  # owner/name; the folder below the sources is called like the name
    path: str
    causes: tuple[
        str, ...
    ] = ()  # any of these names the fault; the first is its class. None: the program is healthy
    also: tuple[
        str, ...
    ] = ()  # true of it, but not its fault (a correction may leave faults): neither right nor wrong
    fault: str = ""  # one line for the reader; the score half has none
    folder: str = ""  # what is copied, and where it runs; the program's own folder when empty
    fix: tuple[tuple[str, str], ...] = ()  # replacements that make the corrected program
    epochs: int | None = None  # a cap
    stand_in_file: str = ""
    full_size: bool = False  # the program has the real number of images in it
    lists: bool = False  # it gives Keras plain lists
    does_not_run: str = ""
    corrected: bool = False

    @property
    def healthy(self) -> bool:
        return self.corrected or not self.causes

    @property
    def label(self) -> str:
        return f"{self.name} {'corrected' if self.corrected else 'faulty' if self.causes else 'as written'}"

    @property
    def key(self) -> str:
        return self.label.replace(" ", "-").replace("/", "-")

    def source(self, sources: Path) -> Path:
        return sources / self.repository.partition("/")[2] / self.path


def programs(half: str) -> Iterator[Program]:
    """Faulty ones, each followed by its corrected version where there is one."""
    for row in tomllib.loads((HERE / f"{half}.toml").read_text())["program"]:
        common = {
            "name": row["id"], "repository": row["repository"], "causes": tuple(row["causes"]),
            "stand_in_file": row.get("stand_in_file", ""),
            "full_size": row.get("full_size", False), "lists": row.get("lists", False),
        }  # fmt: skip
        epochs = row.get("epochs")
        yield Program(
            **common, path=row["path"], fault=row.get("fault", ""), folder=row.get("folder", ""), epochs=epochs,
            does_not_run=row.get("does_not_run", ""), also=tuple(row.get("also", ())),
        )  # fmt: skip
        fix = tuple((old, new) for old, new in row.get("fix", ()))
        folder = row.get("corrected_folder", row.get("folder", ""))
        if fix or "corrected" in row:
            yield Program(
                **common, path=row.get("corrected", row["path"]), folder=folder, fix=fix,
                epochs=row.get("corrected_epochs", epochs), corrected=True,
                does_not_run=row.get("corrected_does_not_run", ""), also=tuple(row.get("corrected_also", ())),
            )  # fmt: skip
