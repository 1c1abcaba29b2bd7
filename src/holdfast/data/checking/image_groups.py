"""Images that share an ending, a word of their names or a folder, and what all of one group lack.

A converter that looked for *.jpg left out *.JPG; the labels of one camera were never copied. To a trainer such images
are negatives. Negatives that somebody added on purpose have a group of their own too: where only a name tells them
apart, they must be many, and not be called so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.data.checking.file_order import own_name
from holdfast.data.dataset_reader import Problem
from holdfast.data.files.splits import bare_split

FEWEST_ENDING = 5  # images of an ending of their own
FEWEST_NAMED = 10  # of a word, a folder or a split
LEAST_NAMED = 0.1  # of all images: guides advise to add up to a tenth of negatives
MOST_WITHOUT = 0.05  # of the other images are without annotation too
FEWEST_OTHERS = 20
MOST_GROUPS = 2000
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_ON_PURPOSE = re.compile(
    r"neg\w*|backgrounds?|bg|empty|none|nothing|blank|normal|good|ok|clean|clear|without|no|not|free|hard|non\w*|test\w*"
    r"|unlabell?ed|unannotated|holdout",
    re.IGNORECASE,
)


def problems(
    names: Sequence[str],
    unannotated: Any,
    splits: Sequence[int],
    split_names: Sequence[str | None],
    path: str,
) -> Iterator[Problem]:
    """The largest group of which no image has an annotation file, and nearly all others have."""
    import numpy as np

    count = int(unannotated.sum())
    if not FEWEST_ENDING <= count <= len(names) - FEWEST_OTHERS:
        return
    for group, fewest, members in _groups(names, splits, split_names):
        inside = np.zeros(len(names), bool)
        inside[members] = True
        size = int(inside.sum())
        if size < fewest or not unannotated[inside].all() or len(names) - size < FEWEST_OTHERS:
            continue
        others = int(unannotated[~inside].sum())
        if others <= MOST_WITHOUT * (len(names) - size):
            said = f"all {size} images {group} have no annotation file, the first here; "
            said += f"{len(names) - size - others} of {len(names) - size} others have one"
            yield Problem("images-not-annotated", names[members[0]], said, size)
            return


def _groups(
    names: Sequence[str], splits: Sequence[int], split_names: Sequence[str | None]
) -> Iterator[tuple[str, int, list[int]]]:
    """What to say of each group, how many images it must have, and which they are; the largest of each kind first."""
    named = max(FEWEST_NAMED, round(LEAST_NAMED * len(names)))
    endings: dict[str, list[int]] = {}
    words: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        own = own_name(name)
        stem, _, ending = own.rpartition(".")
        endings.setdefault(ending, []).append(at)
        folders = name.rsplit("/", 1)[0] if "/" in name else ""
        for word in set(_LETTERS.findall(f"{folders}/{stem}")):
            words.setdefault(word, []).append(at)
    for ending, members in sorted(endings.items(), key=lambda one: -len(one[1])):
        yield f"called *.{ending}", FEWEST_ENDING, members
    for place, split in enumerate(split_names):
        if split is not None and bare_split(split) != "test":
            yield f"of {split}", named, [at for at, one in enumerate(splits) if one == place]
    large = [one for one in words.items() if named <= len(one[1]) < len(names)]
    for word, members in sorted(large, key=lambda one: -len(one[1]))[:MOST_GROUPS]:
        if not _ON_PURPOSE.fullmatch(word):
            yield f"with {word!r} in their names", named, members
