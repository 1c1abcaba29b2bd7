"""Batches from a dataset, in an order that is a function of the step's number alone.

    stream = Stream(columns.of_dataset(dataset), Feed(height=320, width=320, batch=16, seed=7, augment=LIGHT))
    for step, batch in zip(range(412, 5000), stream.batches(first_step=412)):
        ...

A batch is a dict of NumPy arrays: `images` (b, height, width, 3) uint8; `boxes` (b, m, 4) x1 y1 x2 y2 in pixels of
the image; `labels` (b, m) int32; `real` (b, m) which boxes are there; `crowd` (b, m) which of them are regions to
ignore; `boxes_left_out` (b,); `image` (b,) the image's number; `in_epoch` (b,) False for what fills up a last batch;
`mapping` (b, 4) from the source's pixels to the image's; `colour` (b, 4) for `device.recoloured`. An image in
`Stream.bad` keeps its number, and has the pixels and boxes of another.
Where the step resizes (`Feed.sent_pixels`), `pixels` (b, sent_pixels, 3) uint8 and `view` (b, 9) for `device.resized`
stand in the place of `images`, and `resized_by_step` (b,) says for which images there was something to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.errors import DataError, UndecodableImage
from holdfast.host.process_limits import usable_cores
from holdfast.pipeline import batch_plan, decode, image_bytes
from holdfast.pipeline.batch_buffers import BatchBuffers
from holdfast.pipeline.batch_threads import BatchJob, BatchThreads
from holdfast.pipeline.dataset_columns import Columns
from holdfast.pipeline.decode import Undecodable
from holdfast.pipeline.feed import Feed, batches_ahead
from holdfast.pipeline.image_cache import ImageCache
from holdfast.pipeline.pack import PackIndex, with_packed
from holdfast.pipeline.packing import BackgroundPack

Place = Callable[[dict[str, Any]], dict[str, Any]]
PLANNED_IMAGES = 128  # decided at once: some hundred small operations, whose cost is shared by so many


@dataclass(frozen=True, slots=True)
class BadImage:
    """An image that could not be decoded, for the journal."""

    image: int
    name: str
    why: str
    step: int
    skipped: int  # so far, this one included
    allowed: int


class Stream:
    """Holds the tables and the set of bad images; everything else is computed from the step's number."""

    def __init__(
        self,
        columns: Columns,
        feed: Feed,
        *,
        skip_bad: int = 0,
        on_bad: Callable[[BadImage], None] | None = None,
        threads: int | None = None,
        cache: ImageCache | None = None,
        packed: PackIndex | None = None,
        beside: BackgroundPack | None = None,
        on_packed: Callable[[int, int], None] | None = None,
    ) -> None:
        if not len(columns):
            raise DataError("the dataset has no images", change="give a folder that has some")
        self.images = len(columns)
        self.columns = with_packed(columns, packed) if packed else columns
        self.feed = feed
        self.threads = threads or usable_cores()
        self._beside, self._on_packed = beside, on_packed
        self._cache = cache or ImageCache()
        self._packed_from = packed.from_epoch if packed else None
        self._skip_bad, self._on_bad = skip_bad, on_bad
        self._bad: dict[int, str] = {}
        self._table: batch_plan.Tables | None = None
        self._sizes: list[list[int]] = self.columns.stored_sizes.tolist()
        place = (feed.height, feed.width) if feed.sent_pixels is None else (feed.sent_pixels,)
        self._buffers = BatchBuffers((feed.batch, *place, 3))
        self._at_once = max(1, PLANNED_IMAGES // feed.batch)  # steps
        for row, why in columns.unreadable.items():
            self._skip(row, why, step=0)

    @property
    def max_boxes(self) -> int:
        return batch_plan.max_boxes(self.feed, self.columns.fullest)

    @property
    def bad(self) -> frozenset[int]:
        """The images that are skipped: known from their headers, or met so far. In batches another replaces it."""
        return frozenset(self._bad)

    @property
    def steps(self) -> int | None:
        """How many batches come; None when they never end."""
        return None if self.feed.endless else -(-self.images // self.feed.global_batch)

    def batches(self, first_step: int = 0, *, place: Place | None = None) -> Iterator[dict[str, Any]]:
        """Batches from this step on; bad images are named and replaced as far as is allowed.

        The arrays may be kept for as long as they are wanted. Leaving the loop early ends the threads. `place` is
        called for each batch in one of them, as soon as it is filled: it may start to copy it to where it is needed.
        """
        step, again, ahead = first_step, True, batches_ahead(self.feed.batch, self.threads)
        while again:
            again = False
            filled = BatchThreads(self._jobs(step, place), threads=self.threads, ahead=ahead).filled()
            try:
                while (job := next(filled, None)) is not None:
                    if job.undecodable:
                        self._skip_all(job, step)
                        again = True
                        break
                    arrays = job.arrays
                    del job
                    yield arrays
                    del arrays
                    step += 1
                    if self._changes_over(step):
                        again = True
                        break
            finally:
                filled.close()

    def _changes_over(self, step: int) -> bool:
        """Whether the pack that is made beside has just become ready: copies are read from the next epoch on."""
        packed = self._beside.ready() if self._beside is not None else None
        if packed is None:
            return False
        epoch = (step * self.feed.global_batch - 1) // self.images + 1
        self.columns = with_packed(self.columns, replace(packed, from_epoch=epoch))
        self._sizes = self.columns.stored_sizes.tolist()
        self._packed_from, self._beside, self._table = epoch, None, None
        if self._on_packed is not None:
            self._on_packed(len(packed.rows), epoch)
        return True

    def close(self) -> None:
        if self._beside is not None:
            self._beside.stop()

    def one_step(self, step: int) -> dict[str, Any]:
        """The instructions and boxes of a step, without its pixels: cheap, to name what was in a batch."""
        return batch_plan.instructions(np.int64(step), self.feed, self._tables())

    def encoded_bytes(self, images: np.ndarray) -> Iterator[int]:
        """Only reads these images, and gives their lengths: to time the storage alone."""

        def job_of(row: int) -> BatchJob:
            found: dict[str, Any] = {}
            return BatchJob(found, 1, lambda _: found.update(bytes=len(image_bytes.read(self.columns, row))))

        jobs = (job_of(row) for row in images.tolist())
        for job in BatchThreads(jobs, threads=self.threads, ahead=2 * self.threads).filled():
            yield job.arrays.get("bytes", 0)

    def state(self, next_step: int) -> dict[str, Any]:
        """What a checkpoint holds of the data. Everything but `step` must be the same when it is resumed."""
        return {
            "step": next_step,
            "images": self.images,
            "packed_from_epoch": self._packed_from,
            "feed": self.feed.as_json(),
        }

    # -- the plan -------------------------------------------------------------------------------------

    def _jobs(self, first_step: int, place: Place | None) -> Iterator[BatchJob]:
        """A job for each step, planned some steps at a time."""
        step, table, batch = first_step, self._tables(), self.feed.batch
        while self.steps is None or step < self.steps:
            some = self._at_once if self.steps is None else min(self._at_once, self.steps - step)
            planned = batch_plan.instructions(np.int64(step), self.feed, table, some)
            for number in range(some):
                rows = slice(number * batch, (number + 1) * batch)
                yield self._job({name: value[rows] for name, value in planned.items()}, place)
            step += some

    def _job(self, planned: dict[str, Any], place: Place | None) -> BatchJob:
        tiles, shown = planned.pop("tiles"), self._buffers.take()
        if self.feed.sent_pixels is None:
            return BatchJob(
                {"images": shown} | planned,
                len(tiles),
                lambda at: self._draw(shown[at], tiles[at].tolist()),
                place,
            )
        as_decoded = planned["resized_by_step"]

        def send(at: int) -> None:
            (self._send if as_decoded[at] else self._draw_to_send)(shown[at], tiles[at].tolist())

        return BatchJob({"pixels": shown} | planned, len(tiles), send, place)

    def _tables(self) -> batch_plan.Tables:
        if self._table is None:
            substitutes = np.arange(self.images, dtype=np.int64)
            for image in sorted(self._bad):
                substitutes[image] = self._substitute(image)
            fixed = self._cache.ratios(self.columns, self.feed)
            self._table = batch_plan.build_tables(
                self.columns, self.images, substitutes, fixed, self._packed_from
            )
        return self._table

    def _substitute(self, image: int) -> int:
        """The next good image by number: the same one whenever the bad one is met."""
        for step in range(1, self.images):
            if (other := (image + step) % self.images) not in self._bad:
                return other
        raise UndecodableImage("no image of the dataset can be decoded", found=next(iter(self._bad.values())))

    # -- pixels, in the threads -------------------------------------------------------------------------

    def _draw(self, canvas: np.ndarray, orders: list[list[int]]) -> None:
        """The image, or four of them that meet in one point."""
        height, width = orders[0][batch_plan.TILE]
        corners = ((0, 0), (0, width), (height, 0), (height, width))
        for order, (top, left) in zip(orders, corners, strict=False):
            tile_height, tile_width = order[batch_plan.TILE]
            if tile_height and tile_width:
                tile = canvas[top : top + tile_height, left : left + tile_width]
                decode.draw_on_tile(self._window(order), order[batch_plan.DRAWN], tile, self.feed.fill)

    def _draw_to_send(self, pixels: np.ndarray, orders: list[list[int]]) -> None:
        height, width = self.feed.height, self.feed.width
        self._draw(pixels[: height * width].reshape(height, width, 3), orders)
        pixels[height * width :] = 0

    def _send(self, pixels: np.ndarray, orders: list[list[int]]) -> None:
        """The window as it is decoded. Decoded right into its place where the whole image is wanted."""
        order = orders[0]
        _, _, height, width = order[batch_plan.WINDOW]
        into = pixels[: height * width]
        window = self._window(order, into=into.reshape(-1))
        if window.__array_interface__["data"] != into.__array_interface__["data"]:
            into.reshape(height, width, 3)[...] = window
        pixels[height * width :] = 0

    def _window(self, order: list[int], into: np.ndarray | None = None) -> np.ndarray:
        row, codec, ratio = order[: batch_plan.RATIO + 1]
        size = self._sizes[row]
        place = (
            into
            if into is not None and len(into) == 3 * -(-size[0] // ratio) * -(-size[1] // ratio)
            else None
        )

        def decoded() -> np.ndarray:
            encoded = self._cache.encoded(row, lambda: image_bytes.read(self.columns, row))
            return decode.whole(encoded, codec, ratio, (size[0], size[1]), into=place)

        try:
            return decode.cut(self._cache.decoded(row, decoded), order[batch_plan.WINDOW])
        except Undecodable as undecodable:
            undecodable.image = row % self.images
            raise

    # -- bad images -----------------------------------------------------------------------------

    def _skip_all(self, job: BatchJob, step: int) -> None:
        for _, undecodable in sorted(job.undecodable.items(), key=lambda item: item[0]):
            self._skip(undecodable.image, str(undecodable)[:200], step)

    def _skip(self, image: int, why: str, step: int) -> None:
        if image in self._bad:
            return
        self._bad[image] = why
        self._table = None
        name = self.columns.name(image)
        if len(self._bad) > self._skip_bad:
            raise UndecodableImage(
                f"an image cannot be decoded: {name}",
                where=f"step {step}, image {image} of {self.images}",
                found=[why, f"{len(self._bad)} bad so far, {self._skip_bad} may be skipped"],
                change=[
                    "`holdfast data repair` writes a copy without it",
                    "data.skip_bad = N in the recipe lets N such pass",
                ],
            )
        if self._on_bad is not None:
            self._on_bad(BadImage(image, name, why, step, len(self._bad), self._skip_bad))
