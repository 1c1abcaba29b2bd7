"""What the names of images give away about a dataset: where annotating stopped, and what was one image once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.data.dataset_reader import Problem

FEWEST_LEFT = 10  # images at the end without a box
LEAST_LEFT = 0.2  # of all images
FEWEST_FRAMES = 20
FEWEST_CROSSED = 5  # neighbours of a series that are in two splits
SAME_LOOK = 6  # of 255: what saving as JPEG again changes in the mean of a part of the image
ALIKE = 0.05  # one minus the correlation of two small grey images
_NUMBERS = re.compile(r"\d+")
_ROBOFLOW = re.compile(r"(.+)\.rf\.[0-9A-Za-z]{8,}$")


def problems(
    names: Sequence[str], table: Any, split_names: Sequence[str | None], path: str
) -> Iterator[Problem]:
    """All that this module knows of the images with these names; `table` is what the statistics keep of each."""
    splits, labels = table["split"].tolist(), table["boxes"].tolist()
    looks = [
        bytes(look) if there else b"" for look, there in zip(table["look"], table["looked"], strict=True)
    ]
    yield from unfinished(names, [label == 0 for label in labels])
    yield from siblings(names, splits, split_names)
    for one, other in saved_again(labels, splits, looks, table["bytes"].tolist()):
        said = (
            f"looks the same and has the same boxes as {names[one]}; one is in {split_names[splits[one]]}, "
        )
        yield Problem("split-siblings", names[other], f"{said}the other in {split_names[splits[other]]}")
    yield from neighbours(names, splits, looks, path)


def unfinished(names: Sequence[str], empty: Sequence[int]) -> Iterator[Problem]:
    """Images of one numbering: nearly all have boxes, and none has from one on, or in one stretch."""
    series: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        series.setdefault(_NUMBERS.sub("#", name), []).append(at)
    for members in series.values():
        members.sort(key=lambda at: _by_number(names[at]))
        left = 0
        while left < len(members) and empty[members[-1 - left]]:
            left += 1
        done = members[: len(members) - left]
        gaps = sum(empty[at] for at in done)
        # An empty image now and then is a negative; where they are usual, a run of them at the end is chance.
        if (
            left >= FEWEST_LEFT
            and left >= LEAST_LEFT * len(members)
            and len(done) >= 5
            and gaps <= 0.05 * len(done)
        ):
            first = names[members[-left]]
            said = f"the last {left} of {len(members)} images have no box, from this one on; of those before "
            said += f"{len(done) - gaps} of {len(done)} have"
            yield Problem("annotation-unfinished", first, said, left)
        else:
            yield from _unfinished_stretch([names[at] for at in members], [bool(empty[at]) for at in members])


def _unfinished_stretch(names: Sequence[str], empty: Sequence[bool]) -> Iterator[Problem]:
    """The longest run of images without a box, where nearly all others have some."""
    best = start = length = 0
    for at, one in enumerate([*empty, False]):
        if not one:
            start, length = (at - best, best) if best > length else (start, length)
        best = best + 1 if one else 0
    others = len(names) - length
    gaps = sum(empty) - length
    # Where empty images are usual, a long run of them is chance.
    # People are given parts of equal length, and what happens by itself does not begin and end at such a border.
    borders = math.gcd(start, length) >= FEWEST_LEFT
    if length >= LEAST_LEFT * len(names) and others >= 10 and not gaps and borders:
        said = f"{length} of {len(names)} images have no box, from this one to {names[start + length - 1]}; "
        said += f"of the others {others - gaps} of {others} have"
        yield Problem("annotation-unfinished", names[start], said, length)


def _by_number(name: str) -> list[tuple[int, str]]:
    """An order in which img_9 is before img_10."""
    return [
        (int(part) if part.isdigit() and part.isascii() else 0, part) for part in re.split(r"(\d+)", name)
    ]


def siblings(
    names: Sequence[str], splits: Sequence[int], split_names: Sequence[str | None]
) -> Iterator[Problem]:
    """Roboflow's versions of one image, `NAME.rf.HASH.jpg`, in two splits: augmented first, and split afterwards."""
    first: dict[str, int] = {}
    for at, name in enumerate(names):
        stem = own_name(name).rsplit(".", 1)[0]
        found = _ROBOFLOW.fullmatch(stem)
        if found is None:
            continue
        one = first.setdefault(found[1], at)
        if splits[one] != splits[at]:
            said = f"made from the same image as {names[one]}; one is in {split_names[splits[one]]}, "
            said += f"the other in {split_names[splits[at]]}"
            yield Problem("split-siblings", name, said)


def saved_again(
    labels: Sequence[int], splits: Sequence[int], looks: Sequence[bytes], digests: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """The same image in two splits, in another format or quality: other bytes, the same look and the same boxes.

    `labels` is equal for equal boxes, and 0 for none. Boxes that occur again within a split are a fixed camera's.
    """
    places: dict[int, list[int]] = {}
    for at, label in enumerate(labels):
        if label and looks[at]:
            places.setdefault(label, []).append(at)
    for found in places.values():
        one, other = found[0], found[-1]
        twins = len(found) == 2 and splits[one] != splits[other] and digests[one] != digests[other]
        if twins and max(abs(a - b) for a, b in zip(looks[one], looks[other], strict=True)) <= SAME_LOOK:
            yield one, other


def neighbours(
    names: Sequence[str], splits: Sequence[int], looks: Sequence[bytes], path: str
) -> Iterator[Problem]:
    """Frames of a video split at random: images with neighbouring numbers are in two splits and look the same.

    A fixed camera's images all look alike, and a series of photographs has no two that do. Only where neighbours are
    alike and others of the series are not, a neighbour gives an image away.
    """
    import numpy as np

    series: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        if looks[at]:
            series.setdefault(_NUMBERS.sub("#", own_name(name)), []).append(at)
    for members in series.values():
        if len(members) < FEWEST_FRAMES or len({splits[at] for at in members}) < 2:
            continue
        members.sort(key=lambda at: _by_number(own_name(names[at])))
        pixels = np.frombuffer(b"".join(looks[at] for at in members), np.uint8).reshape(len(members), -1)
        of = np.array([splits[at] for at in members])
        crossed = np.flatnonzero(of[1:] != of[:-1])
        if len(crossed) < FEWEST_CROSSED:
            continue
        near = _unlike(pixels[crossed], pixels[crossed + 1])
        half = len(members) // 2
        far = float(np.median(_unlike(pixels[:-half], pixels[half:])))
        alike = (near < ALIKE) & (near < 0.2 * far)
        if 2 * alike.sum() > len(crossed):
            first = int(crossed[alike.argmax()])
            said = f"{names[members[first]]} and {names[members[first + 1]]} are nearly the same image; "
            said += f"so are {int(alike.sum())} of {len(crossed)} neighbours in different splits"
            yield Problem("split-neighbours", path, said, int(alike.sum()))


def _unlike(some: Any, others: Any) -> Any:
    """One minus the correlation of each pair of looks: 0 for the same image, also a darker one."""
    import numpy as np

    a, b = (
        pixels - pixels.mean(axis=1, keepdims=True) for pixels in (some.astype(float), others.astype(float))
    )
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return 1 - (a * b).sum(axis=1) / np.maximum(scale, 1e-9)


def own_name(name: str) -> str:
    """Without its folder, and of an image in a shard without the shard: `train.record (a.jpg)`."""
    inner = name[:-1].rsplit(" (", 1)[-1] if name.endswith(")") else name
    return inner.rsplit("/", 1)[-1]
