"""What the names of images give away about a dataset: where annotating stopped, and what was one image once."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from holdfast.data.checking.look_alikes import blocks
from holdfast.data.checking.name_series import series_of
from holdfast.data.dataset_reader import Problem
from holdfast.data.files.name_index import NameNumbers

FEWEST_LEFT = 10  # images at the end without a box
LEAST_LEFT = 0.2  # of all images
FEWEST_FRAMES = 20
FEWEST_CROSSED = 5  # neighbours of a series that are in two splits
SAME_LOOK = 6  # of 255: what saving as JPEG again changes in the mean of a part of the image
ALIKE = 0.05  # one minus the correlation of two small grey images
_ROBOFLOW = re.compile(r"(.+)\.rf\.[0-9A-Za-z]{8,}$")


def problems(
    names: Sequence[str], table: Any, split_names: Sequence[str | None], series: Iterable[Any], path: str
) -> Iterator[Problem]:
    """All that this module knows of the images with these names; `table` is what the statistics keep of each, and
    `series` the positions of images that are numbered."""
    yield from unfinished(names, table["boxes"] == 0, series)
    if len(split_names) < 2:
        return
    splits = table["split"]
    yield from siblings(names, splits, split_names)
    for one, other in saved_again(table):
        said = (
            f"looks the same and has the same boxes as {names[one]}; one is in {split_names[splits[one]]}, "
        )
        yield Problem("split-siblings", names[other], f"{said}the other in {split_names[splits[other]]}")
    yield from neighbours(names, table, path)


def unfinished(names: Sequence[str], empty: Any, series: Iterable[Any]) -> Iterator[Problem]:
    """Images of one numbering: nearly all have boxes, and none has from one on, or in one stretch."""
    for members in series:
        without = empty[members]
        left = len(members) if without.all() else int(without[::-1].argmin())
        done = len(members) - left
        gaps = int(without[:done].sum())
        # An empty image now and then is a negative; where they are usual, a run of them at the end is chance.
        if left >= FEWEST_LEFT and left >= LEAST_LEFT * len(members) and done >= 5 and gaps <= 0.05 * done:
            said = f"the last {left} of {len(members)} images have no box, from this one on; of those before "
            said += f"{done - gaps} of {done} have"
            yield Problem("annotation-unfinished", names[members[-left]], said, left)
        else:
            yield from _unfinished_stretch(names, members, without)


def _unfinished_stretch(names: Sequence[str], members: Any, empty: Any) -> Iterator[Problem]:
    """The longest run of images without a box, where nearly all others have some."""
    best = start = length = 0
    for at, one in enumerate([*empty.tolist(), False]):
        if not one:
            start, length = (at - best, best) if best > length else (start, length)
        best = best + 1 if one else 0
    others = len(members) - length
    gaps = int(empty.sum()) - length
    # Where empty images are usual, a long run of them is chance.
    # People are given parts of equal length, and what happens by itself does not begin and end at such a border.
    borders = math.gcd(start, length) >= FEWEST_LEFT
    if length >= LEAST_LEFT * len(members) and others >= 10 and not gaps and borders:
        first, last = names[members[start]], names[members[start + length - 1]]
        said = f"{length} of {len(members)} images have no box, from this one to {last}; "
        said += f"of the others {others - gaps} of {others} have"
        yield Problem("annotation-unfinished", first, said, length)


def siblings(
    names: Sequence[str], splits: Sequence[int], split_names: Sequence[str | None]
) -> Iterator[Problem]:
    """Roboflow's versions of one image, `NAME.rf.HASH.jpg`, in two splits: augmented first, and split afterwards."""
    originals, first = NameNumbers(), array("q")  # the position of the first version of each original
    for at, name in enumerate(names):
        stem = _own_name(name).rsplit(".", 1)[0]
        found = _ROBOFLOW.fullmatch(stem)
        if found is None:
            continue
        number = originals.number_of(found[1])
        if number == len(first):
            first.append(at)
        one = first[number]
        if splits[one] != splits[at]:
            said = f"made from the same image as {names[one]}; one is in {split_names[splits[one]]}, "
            said += f"the other in {split_names[splits[at]]}"
            yield Problem("split-siblings", name, said)


def saved_again(table: Any) -> Iterator[tuple[int, int]]:
    """The same image in two splits, in another format or quality: other bytes, the same look and the same boxes.

    Boxes that occur again within a split are a fixed camera's, and no boxes prove nothing.
    """
    import numpy as np

    labels, splits = table["boxes"], table["split"]
    usable = np.flatnonzero((labels > 0) & table["looked"])
    order = usable[np.argsort(labels[usable], kind="stable")]
    ordered = labels[order]
    borders = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1], [True])))
    pairs = borders[:-1][np.diff(borders) == 2]
    pairs = pairs[splits[order[pairs]] != splits[order[pairs + 1]]]
    for place in pairs[np.argsort(order[pairs])]:
        one, other = (table[order[place + step]] for step in (0, 1))
        apart = np.abs(one["look"].astype(int) - other["look"])
        if one["bytes"] != other["bytes"] and apart.max() <= SAME_LOOK:
            yield int(order[place]), int(order[place + 1])


def neighbours(names: Sequence[str], table: Any, path: str) -> Iterator[Problem]:
    """Frames of a video split at random: images with neighbouring numbers are in two splits and look the same.

    A fixed camera's images all look alike, and a series of photographs has no two that do. Only where neighbours are
    alike and others of the series are not, a neighbour gives an image away.
    """
    import numpy as np

    usable = np.flatnonzero(table["looked"])
    for chosen in series_of(_own_name(names[int(at)]) for at in usable):
        members = usable[chosen]
        splits, looks = table["split"][members], table["look"]
        crossed = np.flatnonzero(splits[1:] != splits[:-1])
        if len(members) < FEWEST_FRAMES or len(crossed) < FEWEST_CROSSED:
            continue
        near = _unlike(looks, members[crossed], members[crossed + 1])
        half = len(members) // 2
        far = float(np.median(_unlike(looks, members[:-half], members[half:])))
        alike = (near < ALIKE) & (near < 0.2 * far)
        if 2 * alike.sum() > len(crossed):
            first = int(crossed[alike.argmax()])
            said = f"{names[members[first]]} and {names[members[first + 1]]} are nearly the same image; "
            said += f"so are {int(alike.sum())} of {len(crossed)} neighbours in different splits"
            yield Problem("split-neighbours", path, said, int(alike.sum()))


def _unlike(looks: Any, some: Any, others: Any) -> Any:
    """One minus the correlation of the looks at each pair of positions: 0 for the same image, also a darker one."""
    import numpy as np

    found = np.empty(len(some))
    for part in blocks(len(some)):
        a, b = (
            pixels - pixels.mean(axis=1, keepdims=True)
            for pixels in (looks[some[part]].astype(float), looks[others[part]].astype(float))
        )
        scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
        found[part] = 1 - (a * b).sum(axis=1) / np.maximum(scale, 1e-9)
    return found


def _own_name(name: str) -> str:
    """Without its folder, and of an image in a shard without the shard: `train.record (a.jpg)`."""
    inner = name[:-1].rsplit(" (", 1)[-1] if name.endswith(")") else name
    return inner.rsplit("/", 1)[-1]
