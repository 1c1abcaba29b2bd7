"""Images that share an ending, a word of their names or a folder, and what all of one group lack.

A converter that looked for *.jpg left out *.JPG; the labels of one camera were never copied. To a trainer such images
are negatives. Negatives that somebody added on purpose have a group of their own too: where only a name tells them
apart, they must be many, and not be called so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.data.checking.file_order import own_name
from holdfast.data.dataset_reader import Problem
from holdfast.data.files.splits import bare_split

FEWEST_ENDING = 5  # images of an ending that differs from another in case, or as .jpeg does
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
    splits: Any,
    split_names: Sequence[str | None],
) -> Iterator[Problem]:
    """The largest group of which no image has an annotation file, and nearly all others have."""
    import numpy as np

    count = int(unannotated.sum())
    if not FEWEST_ENDING <= count <= len(names) - FEWEST_OTHERS:
        return
    everywhere = set.intersection(*map(_words_of, names))
    for group, fewest, members in _groups(names, splits, split_names):
        inside = np.zeros(len(names), bool)
        inside[members] = True
        size = int(inside.sum())
        if size < fewest or not unannotated[inside].all() or len(names) - size < FEWEST_OTHERS:
            continue
        others = int(unannotated[~inside].sum())
        if others <= MOST_WITHOUT * (len(names) - size) and not _meant(
            [names[at] for at in members], everywhere
        ):
            said = f"all {size} images {group} have no annotation file, the first here; "
            said += f"{len(names) - size - others} of {len(names) - size} others have one"
            yield Problem("images-not-annotated", names[members[0]], said, size)
            return


def _groups(
    names: Sequence[str], splits: Any, split_names: Sequence[str | None]
) -> Iterator[tuple[str, int, list[int]]]:
    """What to say of each group, how many images it must have, and which they are; the largest of each kind first."""
    named = max(FEWEST_NAMED, round(LEAST_NAMED * len(names)))
    endings: dict[str, list[int]] = {}
    words: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        endings.setdefault(own_name(name).rpartition(".")[2], []).append(at)
        for word in _words_of(name):
            words.setdefault(word, []).append(at)
    kinds = Counter(map(_kind_of, endings))
    for ending, members in sorted(endings.items(), key=lambda one: -len(one[1])):
        yield f"called *.{ending}", FEWEST_ENDING if kinds[_kind_of(ending)] > 1 else named, members
    for place, split in enumerate(split_names):
        if split is not None and bare_split(split) != "test":
            yield f"of {split}", named, [at for at, one in enumerate(splits) if one == place]
    large = [one for one in words.items() if named <= len(one[1]) < len(names)]
    for word, members in sorted(large, key=lambda one: -len(one[1]))[:MOST_GROUPS]:
        yield f"with {word!r} in their names", named, members


def _kind_of(ending: str) -> str:
    return {"jpeg": "jpg", "tiff": "tif"}.get(ending.lower(), ending.lower())


def _meant(names: Sequence[str], everywhere: set[str]) -> bool:
    """Nearly each name says that nothing is in the image, or that nobody was to annotate it.

    Words that all images of the dataset have in their names, as its folder, say nothing.
    """
    said = [any(_ON_PURPOSE.fullmatch(word) for word in _words_of(name) - everywhere) for name in names]
    return sum(said) >= (1 - MOST_WITHOUT) * len(names)


def _words_of(name: str) -> set[str]:
    return set(_LETTERS.findall(name.removesuffix(")").rpartition(".")[0]))
