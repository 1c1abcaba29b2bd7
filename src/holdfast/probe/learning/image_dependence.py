"""Whether labels depend on images: what simple features of some images say about the labels of others.

The nearest row says little among thousands of pixels. Means of areas, quantiles of colours and answers to small filters
with random weights tell shapes, colours and textures apart; a regression on them is fitted to some rows and compared
with the labels of the rest.
"""

from __future__ import annotations

from typing import Any

from ...journal.events import DependenceSeen

_SIDE, _LEAST_SIDE, _MOST_CHANNELS = 32, 8, 4
MOST_ROWS, _FEWEST_ROWS = 1000, 100
_MOST_CLASSES = 20
_GRID = 4
_QUANTILES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
_FILTERS, _COLOUR_FILTERS, _FILTER_SIDE = 24, 12, 5
_AT_ONCE = 100  # images, for the memory that filters need
_FOLDS = 5
_RIDGE = 0.03  # of the number of rows


class ImageRows:
    """Small copies of images, with their labels."""

    def __init__(self) -> None:
        self._images: list[Any] = []
        self._targets: list[Any] = []
        self.rows = 0

    @property
    def full(self) -> bool:
        return self.rows >= MOST_ROWS

    def add(self, inputs: Any, targets: Any) -> None:
        if self.full or targets is None or not is_images(inputs) or len(inputs) != len(targets):
            return
        small = _small(inputs[: MOST_ROWS - self.rows])
        if self._images and self._images[0].shape[1:] != small.shape[1:]:
            return
        if self._targets and self._targets[0].shape[1:] != targets.shape[1:]:
            return
        self._images.append(small)
        self._targets.append(targets[: len(small)].copy())
        self.rows += len(small)

    def dependence(self, fit: int | None = None) -> DependenceSeen | None:
        import numpy as np

        if self.rows < _FEWEST_ROWS:
            return None
        return _dependence(np.concatenate(self._images), np.concatenate(self._targets), fit, np)


def is_images(array: Any) -> bool:
    shape = tuple(getattr(array, "shape", ()))
    if len(shape) == 3:
        return min(shape[1:]) >= _LEAST_SIDE
    return len(shape) == 4 and (
        (shape[3] <= _MOST_CHANNELS and min(shape[1:3]) >= _LEAST_SIDE)
        or (shape[1] <= _MOST_CHANNELS and min(shape[2:]) >= _LEAST_SIDE)
    )


def _small(images: Any) -> Any:
    """At most 32 pixels a side, channels last: the mean of each area."""
    import numpy as np

    if images.ndim == 3:
        images = images[..., None]
    elif images.shape[3] > _MOST_CHANNELS:
        images = np.moveaxis(images, 1, 3)
    count, height, width, channels = images.shape
    rows, columns = -(-height // _SIDE), -(-width // _SIDE)
    whole = images[:, : height // rows * rows, : width // columns * columns]
    areas = whole.reshape(count, height // rows, rows, width // columns, columns, channels)
    return areas.mean(axis=(2, 4), dtype="float32")


def _dependence(images: Any, targets: Any, fit: int | None, np: Any) -> DependenceSeen | None:
    wanted = _indicators(targets, np)
    if wanted is None or not np.isfinite(images).all():
        return None
    spread = float(images.std())
    _, first = np.unique(images.reshape(len(images), -1), axis=0, return_index=True)
    if not spread or len(first) < _FEWEST_ROWS:
        return None
    first.sort()
    images, wanted = (images[first] - images.mean()) / spread, wanted[first]
    features = _features(images, np)
    return DependenceSeen(
        fit=fit,
        rows=len(images),
        agreement=round(_held_out(features, wanted, np), 4),
        of="images",
        structure=round(_smoothness(images, np), 3),
    )


def _indicators(targets: Any, np: Any) -> Any:
    """One column for each class, or the value itself."""
    labels = np.asarray(targets, dtype="float64").reshape(len(targets), -1)
    if not np.isfinite(labels).all():
        return None
    if labels.shape[1] == 1 and (labels == np.floor(labels)).all():
        ids = np.unique(labels)
        if 2 <= len(ids) <= _MOST_CLASSES:
            return (labels == ids).astype("float64")
    if labels.shape[1] > _MOST_CLASSES or not labels.std(axis=0).any():
        return None
    return labels


def _features(images: Any, np: Any) -> Any:
    parts = [_areas(images, np)]
    flat = images.reshape(len(images), -1, images.shape[3])
    parts.append(np.moveaxis(np.quantile(flat, _QUANTILES, axis=1), 0, 1).reshape(len(images), -1))
    chance = np.random.default_rng(0)  # a generator of its own: the script's random state is left alone
    channels = images.shape[3]
    small = chance.normal(size=(_FILTER_SIDE * _FILTER_SIDE * channels, _FILTERS)).astype("float32")
    colours = chance.normal(size=(channels, _COLOUR_FILTERS)).astype("float32")
    answers = [
        _answers(images[start : start + _AT_ONCE], small, colours, np)
        for start in range(0, len(images), _AT_ONCE)
    ]
    values = np.concatenate([*parts, np.concatenate(answers)], axis=1).astype("float64")
    spread = values.std(axis=0)
    return ((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1))[:, spread > 0]


def _areas(images: Any, np: Any) -> Any:
    across = [np.array_split(half, _GRID, axis=2) for half in np.array_split(images, _GRID, axis=1)]
    return np.concatenate([area.mean(axis=(1, 2)) for row in across for area in row], axis=1)


def _answers(images: Any, small: Any, colours: Any, np: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(images, (_FILTER_SIDE, _FILTER_SIDE), axis=(1, 2))
    places = windows[:, ::2, ::2].reshape(len(images), -1, small.shape[0])
    found = []
    for answer in (places @ small, images.reshape(len(images), -1, colours.shape[0]) @ colours):
        found += [answer.max(axis=1), answer.min(axis=1), answer.mean(axis=1), answer.std(axis=1)]
    return np.concatenate(found, axis=1)


def _held_out(features: Any, wanted: Any, np: Any) -> float:
    """Correlation of what is predicted for rows that were left out with their labels; of a straight and a bent fit,
    the better one."""
    squares = (features * features).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * (features @ features.T)
    kernels = (
        features @ features.T,
        np.exp(-np.maximum(distances, 0) / features.shape[1]) * features.shape[1],
    )
    rows = np.random.default_rng(1).permutation(len(features))
    best = 0.0
    for kernel in kernels:
        expected = np.zeros_like(wanted)
        truth = np.zeros_like(wanted)
        for fold in range(_FOLDS):
            out = rows[fold::_FOLDS]
            kept = np.setdiff1d(rows, out)
            mean = wanted[kept].mean(axis=0)
            ridge = _RIDGE * len(kept) * np.trace(kernel) / len(kernel) / 10
            solved = np.linalg.solve(
                kernel[np.ix_(kept, kept)] + ridge * np.eye(len(kept)), wanted[kept] - mean
            )
            expected[out] = kernel[np.ix_(out, kept)] @ solved
            truth[out] = wanted[out] - mean
        size = float(np.sqrt((expected**2).sum() * (truth**2).sum()))
        best = max(best, float((expected * truth).sum()) / size if size else 0.0)
    return best


def _smoothness(images: Any, np: Any) -> float:
    """How alike neighbouring pixels are: 0 for noise, near 1 for images of something."""
    one, other = images[:, :, :-1].reshape(-1), images[:, :, 1:].reshape(-1)
    return float(np.corrcoef(one, other)[0, 1])
