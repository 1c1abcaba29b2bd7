"""Images that are another's mirror image: an augmentation in another split, or one with the boxes of the original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.data.dataset_reader import Problem

SIDE = 8  # pixels of each side of a look
LEAST_CONTRAST = 8  # of 255: the deviation of a look in which something can be seen
SAME = 0.03  # one minus the correlation of two looks: one is the other's mirror image
STRANGE = 0.12  # times the usual distance of two images of the dataset, or less
TURNED = 4.0  # times further from the image itself than from its mirror image: not a symmetric scene
MOST_COMPARED = 2000  # images of the smaller splits
PIECE = 500
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
    if len(usable) < 4:
        return
    looks, contrast = normalised(table["look"][usable])
    splits = table["split"][usable]
    largest = np.bincount(splits).argmax()
    known, others = (
        np.flatnonzero(splits == largest),
        np.flatnonzero((splits != largest) & (contrast > LEAST_CONTRAST)),
    )
    if len(known) < 4 or not len(others):
        return
    if len(others) > MOST_COMPARED:
        others = others[np.linspace(0, len(others) - 1, MOST_COMPARED).astype(int)]
    for begin in range(0, len(others), PIECE):
        part = others[begin : begin + PIECE]
        turned = 1 - mirrored(looks[part]) @ looks[known].T
        best = turned.argmin(axis=1)
        distance = turned[np.arange(len(part)), best]
        usual = np.median(turned, axis=1)
        direct = 1 - (looks[part] * looks[known[best]]).sum(axis=1)
        for at in np.flatnonzero(
            (distance < SAME) & (distance < STRANGE * usual) & (direct > TURNED * distance + 0.02)
        ):
            yield int(usable[part[at]]), int(usable[known[best[at]]])


def mirrored_with_the_same_boxes(table: Any) -> Iterator[tuple[int, int]]:
    """Pairs with equal boxes, of which one is the other's mirror image, and not the same."""
    import numpy as np

    order = np.argsort(table["boxes"], kind="stable")
    labels = table["boxes"][order]
    twins = np.flatnonzero((labels[1:] == labels[:-1]) & (labels[1:] > 0))
    twins = twins[table["looked"][order[twins]] & table["looked"][order[twins + 1]]]
    if not len(twins):
        return
    some, contrast = normalised(table["look"][order[twins]])
    others, _ = normalised(table["look"][order[twins + 1]])
    turned = 1 - (mirrored(some) * others).sum(axis=1)
    direct = 1 - (some * others).sum(axis=1)
    for at in np.flatnonzero(
        (turned < SAME) & (direct > TURNED * turned + 0.1) & (contrast > LEAST_CONTRAST)
    ):
        yield int(order[twins[at]]), int(order[twins[at] + 1])


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
    return 1 - (normalised(some)[0] * normalised(others)[0]).sum(axis=1)
