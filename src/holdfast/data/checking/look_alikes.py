"""Images that are another's mirror image: an augmentation in another split, or one with the boxes of the original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.data.dataset_reader import Problem
from holdfast.data.files.packed_list import writable

SIDE = 8  # pixels of each side of a look
LEAST_CONTRAST = 8  # of 255: the deviation of a look in which something can be seen
SAME = 0.03  # one minus the correlation of two looks: one is the other's mirror image
STRANGE = 0.12  # times the usual distance of two images of the dataset, or less
TURNED = 4.0  # times further from the image itself than from its mirror image: not a symmetric scene
MOST_COMPARED = 2000  # images of the smaller splits
MOST_PRODUCTS = 1 << 21  # of one image with another, at once
FEWEST_PAIRS = 3


def problems(names: Sequence[str], table: Any, split_names: Sequence[str | None]) -> Iterator[Problem]:
    """All that this module knows; `table` is what the statistics keep of each image."""
    for one, other in mirrored_in_another_split(table):
        said = f"is the mirror image of {names[other]}; one is in {split_names[table['split'][one]]}, "
        yield Problem(
            "split-siblings", names[one], f"{said}the other in {split_names[table['split'][other]]}"
        )
    pairs = list(mirrored_with_the_same_boxes(table))
    if len(pairs) >= FEWEST_PAIRS:
        for one, other in pairs:
            said = f"is the mirror image of {names[one]}, and has the same boxes"
            yield Problem("mirrored-boxes", names[other], said)


def mirrored_in_another_split(table: Any) -> Iterator[tuple[int, int]]:
    """Images outside the largest split and the image of the largest that each is the mirror image of."""
    import numpy as np

    usable = np.flatnonzero(table["looked"])
    splits = table["split"][usable]
    if len(np.unique(splits)) < 2:
        return
    largest = np.bincount(splits).argmax()
    known, others = usable[splits == largest], _with_contrast(table, usable[splits != largest])
    if len(known) < 4 or not len(others):
        return
    if len(others) > MOST_COMPARED:
        others = others[np.linspace(0, len(others) - 1, MOST_COMPARED).astype(int)]
    looks = _looks_of(table, known)
    for part in blocks(len(others), max(1, MOST_PRODUCTS // len(known))):
        some, _ = normalised(table["look"][others[part]])
        turned = mirrored(some) @ looks.T
        np.subtract(1, turned, out=turned)
        best = turned.argmin(axis=1)
        distance = turned[np.arange(len(some)), best]
        usual = np.median(turned, axis=1, overwrite_input=True)
        direct = 1 - (some * looks[best]).sum(axis=1)
        for at in np.flatnonzero(
            (distance < SAME) & (distance < STRANGE * usual) & (direct > TURNED * distance + 0.02)
        ):
            yield int(others[part][at]), int(known[best[at]])


def _with_contrast(table: Any, places: Any) -> Any:
    """Those of the places whose look shows something."""
    import numpy as np

    found = np.empty(len(places), bool)
    for part in blocks(len(places)):
        found[part] = normalised(table["look"][places[part]])[1] > LEAST_CONTRAST
    return places[found]


def _looks_of(table: Any, places: Any) -> Any:
    """The normalised looks of these places, on disk where they are many."""
    import numpy as np

    found = np.frombuffer(writable(4 * SIDE**2 * len(places)), np.float32).reshape(len(places), -1)
    for part in blocks(len(places)):
        found[part], _ = normalised(table["look"][places[part]])
    return found


def mirrored_with_the_same_boxes(table: Any) -> Iterator[tuple[int, int]]:
    """Pairs with equal boxes, of which one is the other's mirror image, and not the same."""
    import numpy as np

    order = np.argsort(table["boxes"], kind="stable")
    labels = table["boxes"][order]
    twins = np.flatnonzero((labels[1:] == labels[:-1]) & (labels[1:] > 0))
    twins = twins[table["looked"][order[twins]] & table["looked"][order[twins + 1]]]
    twins = twins[np.argsort(order[twins])]  # numbers of boxes are in another order in each process
    for part in blocks(len(twins)):
        ones, next_ones = order[twins[part]], order[twins[part] + 1]
        some, contrast = normalised(table["look"][ones])
        others, _ = normalised(table["look"][next_ones])
        turned = 1 - (mirrored(some) * others).sum(axis=1)
        direct = 1 - (some * others).sum(axis=1)
        for at in np.flatnonzero(
            (turned < SAME) & (direct > TURNED * turned + 0.1) & (contrast > LEAST_CONTRAST)
        ):
            yield int(ones[at]), int(next_ones[at])


def blocks(count: int, size: int = 1 << 10) -> Iterator[slice]:
    """Parts of so many rows: looks as numbers take many times what they take as bytes."""
    return (slice(start, start + size) for start in range(0, count, size))


def normalised(looks: Any) -> tuple[Any, Any]:
    """With a mean of 0 and a length of 1, so that a product is a correlation; and the contrast of each."""
    import numpy as np

    centred = looks.astype(np.float32)
    centred -= centred.mean(axis=1, keepdims=True)
    return centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-3), centred.std(axis=1)


def mirrored(looks: Any) -> Any:
    return looks.reshape(-1, SIDE, SIDE)[:, :, ::-1].reshape(len(looks), -1)


def unlike(some: Any, others: Any) -> Any:
    """One minus the correlation of each pair of looks: 0 for the same image, also a darker one."""
    import numpy as np

    found = np.empty(len(some), np.float32)
    for part in blocks(len(some)):
        found[part] = 1 - (normalised(some[part])[0] * normalised(others[part])[0]).sum(axis=1)
    return found
