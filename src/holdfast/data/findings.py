"""Findings: how often each kind of fault occurs in a dataset, and the first few places."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from holdfast.data.dataset_reader import Problem
from holdfast.data.finding_kind import REPAIR
from holdfast.data.finding_kinds import KINDS

PLACES = 5  # how many places a finding names


SEVERITIES = {slug: kind.severity for slug, kind in KINDS.items()}
RANK = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, slots=True)
class FindingPlace:
    file: str
    detail: str


@dataclass(frozen=True, slots=True)
class DataFinding:
    slug: str
    severity: str
    count: int
    places: tuple[FindingPlace, ...]
    remedy: str
    extra: tuple[tuple[str, Any], ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "finding": self.slug,
            "severity": self.severity,
            "count": self.count,
            **dict(self.extra),
            "places": [{"file": place.file, "detail": place.detail} for place in self.places],
            "remedy": self.remedy,
        }


class Tally:
    """Counts findings and keeps the first few places of each, so its size does not grow with the dataset."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, tuple[tuple[str, Any], ...]], tuple[str, int, list[FindingPlace]]] = {}

    def add(self, problem: Problem, *, severity: str = "", extra: tuple[tuple[str, Any], ...] = ()) -> None:
        key = (problem.finding, extra)
        wanted = severity or SEVERITIES[problem.finding]
        worst, count, places = self._found.get(key, (wanted, 0, []))
        if len(places) < PLACES:
            places.append(FindingPlace(problem.file, problem.detail))
        self._found[key] = (min(worst, wanted, key=RANK.__getitem__), count + problem.count, places)

    def drop(self, slugs: Collection[str]) -> None:
        """Forget what another finding accounts for."""
        self._found = {key: found for key, found in self._found.items() if key[0] not in slugs}

    def has(self, slug: str) -> bool:
        return any(found == slug for found, _ in self._found)

    def count(self, slug: str) -> int:
        return sum(count for (found, _), (_, count, _) in self._found.items() if found == slug)

    def findings(self) -> tuple[DataFinding, ...]:
        """Errors first, then by how many there are."""
        made = [
            DataFinding(slug, severity, count, tuple(places), _remedy(slug, severity, extra), extra)
            for (slug, extra), (severity, count, places) in self._found.items()
        ]
        return tuple(sorted(made, key=lambda finding: (RANK[finding.severity], -finding.count, finding.slug)))


def _remedy(slug: str, severity: str, extra: tuple[tuple[str, Any], ...]) -> str:
    if slug == "image-without-annotation" and severity == "note":
        return "nothing, if there is nothing in them: they are trained on as negatives"
    if ("boxes_fit", "declared") in extra:
        return f"the boxes belong to the declared size: scale them to the real one; {REPAIR} with that done"
    if ("boxes_fit", "real") in extra:
        return f"the boxes belong to the real image: correct the declared size; {REPAIR} with that done"
    return KINDS[slug].remedy
