"""Batches from a dataset, in an order that is a function of the step's number alone.

    stream = Stream(columns.of_dataset(dataset), Feed(height=320, width=320, batch=16, seed=7, augment=LIGHT))
    for step, batch in zip(range(412, 5000), stream.batches(first_step=412)):
        ...

A batch is a dict: `images` (b, height, width, 3) uint8; `boxes` (b, m, 4) x1 y1 x2 y2 in pixels of the image;
`labels` (b, m) int32; `real` (b, m) which boxes are there; `crowd` (b, m) which of them are regions to ignore;
`boxes_left_out` (b,); `image` (b,) the image's number; `in_epoch` (b,) False for what fills up a last batch;
`mapping` (b, 4) from the source's pixels to the image's; `colour` (b, 4) for `device.recoloured`. An image in
`Stream.bad` keeps its number, and has the pixels and boxes of another.
Where the step resizes (`Feed.sent_pixels`), `pixels` (b, sent_pixels, 3) uint8 and `view` (b, 9) for `device.resized`
stand in the place of `images`, and `resized_by_step` (b,) says for which images there was something to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.data.files.filesystem import is_url
from holdfast.errors import DataError, UndecodableImage
from holdfast.host.process_limits import usable_cores
from holdfast.pipeline import batch_plan, data_service, decode, row_layout
from holdfast.pipeline.dataset_columns import Columns
from holdfast.pipeline.feed import PREFETCHED_BATCHES, Feed
from holdfast.pipeline.image_cache import ImageCache
from holdfast.pipeline.pack import PackIndex, with_packed
from holdfast.pipeline.packing import BackgroundPack

ENDLESS = np.iinfo(np.int64).max
PLANNED_IMAGES = 128  # decided at once: some thousand small operations, whose cost is shared by so many


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
        servers: tuple[str, ...] = (),
        beside: BackgroundPack | None = None,
        on_packed: Callable[[int, int], None] | None = None,
    ) -> None:
        if not len(columns):
            raise DataError("the dataset has no images", change="give a folder that has some")
        self.images = len(columns)
        self.columns = with_packed(columns, packed) if packed else columns
        if servers:  # which start in another folder
            paths = [path if is_url(path) else os.path.abspath(path) for path in self.columns.paths]
            self.columns = replace(self.columns, paths=paths)
        self.feed = feed
        self.threads = threads or usable_cores()
        self._servers, self._beside, self._on_packed = servers, beside, on_packed
        self._cache = ImageCache() if servers else cache or ImageCache()  # a table cannot be sent
        self._packed_from = packed.from_epoch if packed else None
        self._skip_bad, self._on_bad = skip_bad, on_bad
        self._bad: dict[int, str] = {}
        self._traced: tuple[Any, Any, Any] | None = None
        self._layout: row_layout.RowLayout = {}
        self._at_once = max(1, PLANNED_IMAGES // feed.batch)  # steps
        for row, why in columns.unreadable.items():
            self._skip(row, why, step=0)

    @property
    def max_boxes(self) -> int:
        return batch_plan.max_boxes(self.feed, self.columns.fullest)

    @property
    def bad(self) -> frozenset[int]:
        """The images that are skipped: known from their headers, or met so far. In batches another stands in."""
        return frozenset(self._bad)

    @property
    def steps(self) -> int | None:
        """How many batches come; None when they never end."""
        return None if self.feed.endless else -(-self.images // self.feed.global_batch)

    def dataset(self, first_step: int = 0) -> Any:
        """A tf.data.Dataset from this step on. `batches` also names and skips bad images; this raises."""
        if not self._servers or self.steps is not None:
            return self._part(first_step, self._at_once)
        count = len(self._servers) * self._at_once

        def part(index: int) -> Any:
            return self._part(first_step + index * self._at_once, count)

        return data_service.merged_dataset(part, self._servers, self._at_once).prefetch(PREFETCHED_BATCHES)

    def _part(self, first_step: int, every: int) -> Any:
        """`_at_once` steps from each `every` on: all of them, or what one of several servers makes."""
        plan_step, with_pixels, parted = self._graphs()
        plain = tf.autograph.experimental.do_not_convert
        options = tf.data.Options()
        options.deterministic = True
        options.threading.private_threadpool_size = self.threads
        options.autotune.enabled = False
        steps = tf.data.Dataset.range(first_step, ENDLESS if self.steps is None else self.steps, every)
        planned = steps.map(plain(plan_step), num_parallel_calls=1).prefetch(1).unbatch()
        if self.steps is not None:  # the last steps that were planned at once may reach past the end
            planned = planned.take((self.steps - first_step) * self.feed.batch)
        images = planned.map(plain(with_pixels), num_parallel_calls=self.threads, deterministic=True)
        batches = self._batched(images).map(plain(parted))
        return batches.prefetch(PREFETCHED_BATCHES).with_options(options)

    def batches(self, first_step: int = 0) -> Iterator[dict[str, Any]]:
        """Batches of tensors from this step on; bad images are named and replaced as far as is allowed."""
        step, failed_at = first_step, -1
        while True:
            iterator = iter(self.dataset(step))
            try:
                for batch in iterator:
                    yield batch
                    step += 1
                    if self._changes_over(step):
                        break
                else:
                    return
            except tf.errors.OpError as error:
                found = self._bad_of(step)
                if not found and failed_at == step:
                    raise DataError(
                        f"reading the batch of step {step} gives an error, and each of its images alone does not",
                        found=_first_line(error),
                        change="look at the storage: `holdfast check` reads every image once",
                    ) from None
                failed_at = step
                for image, why in found.items():
                    self._skip(image, why, step)

    def _changes_over(self, step: int) -> bool:
        """Whether the pack that is made beside has just become ready: copies are read from the next epoch on."""
        packed = self._beside.ready() if self._beside is not None else None
        if packed is None:
            return False
        epoch = (step * self.feed.global_batch - 1) // self.images + 1
        self.columns = with_packed(self.columns, replace(packed, from_epoch=epoch))
        self._packed_from, self._beside, self._traced = epoch, None, None
        if self._on_packed is not None:
            self._on_packed(len(packed.rows), epoch)
        return True

    def close(self) -> None:
        if self._beside is not None:
            self._beside.stop()

    def numpy_batches(self, first_step: int = 0) -> Iterator[dict[str, np.ndarray]]:
        """The same as NumPy arrays, for JAX; nothing is copied."""
        for batch in self.batches(first_step):
            yield {name: value.numpy() for name, value in batch.items()}

    def one_step(self, step: int) -> dict[str, Any]:
        """The instructions and boxes of a step, without its pixels: cheap, to name what was in a batch."""
        plan_step, _, _ = self._graphs()
        planned = row_layout.unpack_rows(plan_step(tf.constant(step, tf.int64)), self._layout)
        return {name: value[: self.feed.batch] for name, value in planned.items()}

    def encoded_bytes(self, images: np.ndarray) -> Any:
        """A dataset that only reads these images and gives their lengths: to time the storage alone."""
        plain = tf.autograph.experimental.do_not_convert
        rows = tf.data.Dataset.from_tensor_slices(images)
        return rows.map(
            plain(lambda row: tf.strings.length(self._read(row))), num_parallel_calls=self.threads
        )

    def state(self, next_step: int) -> dict[str, Any]:
        """What a checkpoint holds of the data. Everything but `step` must be the same when it is resumed."""
        return {
            "step": next_step,
            "images": self.images,
            "packed_from_epoch": self._packed_from,
            "feed": self.feed.as_json(),
        }

    # -- images ---------------------------------------------------------------------------------

    def _graphs(self) -> tuple[Any, Any, Any]:
        """The three functions, traced once a stream: tracing takes a second or two, and is done again only
        after a bad image. They are graph code as they stand, so TensorFlow need not convert them."""
        if self._traced is None:
            table = self._tables()
            self._tile_graph = tf.function(self._tile_or_nothing, autograph=False)

            def plan_step(step: Any) -> Any:
                planned = batch_plan.instructions(step, self.feed, table, self._at_once)
                self._layout = row_layout.layout_of(planned)
                return row_layout.pack_rows(planned)

            steps = tf.function(plan_step, autograph=False, input_signature=[tf.TensorSpec([], tf.int64)])
            steps.get_concrete_function()  # now, so that the layout is known
            self._traced = steps, tf.function(self._with_pixels, autograph=False), self._batch
        return self._traced

    def _batched(self, images: Any) -> Any:
        if self.feed.sent_pixels is None:
            return images.batch(self.feed.batch, drop_remainder=True)
        # As long as they are until here: what pads them copies them into the batch too.
        shapes = [3 * self.feed.sent_pixels], images.element_spec[1].shape
        return images.padded_batch(self.feed.batch, shapes, drop_remainder=True)

    def _batch(self, images: Any, together: Any) -> dict[str, Any]:
        parts = row_layout.unpack_rows(together, self._layout)
        sent = self.feed.sent_pixels
        shown = {"images": images} if sent is None else {"pixels": tf.reshape(images, [-1, sent, 3])}
        return shown | {name: part for name, part in parts.items() if name != "tiles"}

    def _tables(self) -> batch_plan.Tables:
        substitutes = np.arange(self.images, dtype=np.int64)
        for image in sorted(self._bad):
            substitutes[image] = self._substitute(image)
        fixed = self._cache.ratios(self.columns, self.feed)
        return batch_plan.build_tables(self.columns, self.images, substitutes, fixed, self._packed_from)

    def _substitute(self, image: int) -> int:
        """The next good image by number: the same one whenever the bad one is met."""
        for step in range(1, self.images):
            if (other := (image + step) % self.images) not in self._bad:
                return other
        raise UndecodableImage("no image of the dataset can be decoded", found=next(iter(self._bad.values())))

    def _with_pixels(self, row: Any) -> tuple[Any, Any]:
        shape, _ = self._layout["tiles"]
        after = shape[0] * shape[1]
        tiles = tf.reshape(row[:after], shape)  # the first part of the row
        if self.feed.sent_pixels is None:
            return self._canvas(tiles), row
        resized_by_step = row[after] > 0
        pixels = tf.cond(resized_by_step, lambda: self._window(tiles[0]), lambda: self._canvas(tiles))
        return tf.reshape(pixels, [-1]), row

    def _canvas(self, tiles: Any) -> Any:
        if not self.feed.augment.mosaic:
            canvas = self._tile(tiles[0])
        else:
            four = [self._tile_graph(tiles[place]) for place in range(4)]
            canvas = tf.concat([tf.concat(four[:2], axis=1), tf.concat(four[2:], axis=1)], axis=0)
        return tf.ensure_shape(canvas, [self.feed.height, self.feed.width, 3])

    def _tile_or_nothing(self, order: Any) -> Any:
        size = order[batch_plan.TILE]
        empty = tf.zeros([size[0], size[1], 3], tf.uint8)
        return tf.cond(tf.reduce_min(size) > 0, lambda: self._tile(order), lambda: empty)

    def _tile(self, order: Any) -> Any:
        return decode.draw_on_tile(
            self._window(order), order[batch_plan.DRAWN], order[batch_plan.TILE], self.feed.fill
        )

    def _window(self, order: Any) -> Any:
        return self._cache.pixels(self._pixels, order, self.columns)

    def _pixels(self, order: Any, window: Any) -> Any:
        columns, row = self.columns, tf.cast(order[batch_plan.ROW], tf.int64)
        encoded = self._cache.encoded(lambda: self._read(row), row)
        return decode.pixels(
            encoded, order[batch_plan.CODEC], order[batch_plan.RATIO], window, codecs=frozenset(columns.codecs.tolist())
        )  # fmt: skip

    def _read(self, row: Any) -> Any:
        columns = self.columns
        place = [
            tf.gather(tf.constant(part), row)
            for part in (columns.offsets, columns.lengths, columns.file_bytes)
        ]
        # As the bytes that they are on the disk: a name out of an old archive need not be UTF-8.
        path = tf.gather(tf.constant([os.fsencode(one) for one in columns.paths]), row)
        return decode.read(path, *place, sliced=bool((columns.offsets >= 0).any()))

    # -- bad images -----------------------------------------------------------------------------

    def _bad_of(self, step: int) -> dict[int, str]:
        """The images of a step that cannot be decoded, tried one by one."""
        found: dict[int, str] = {}
        for order in tf.reshape(self.one_step(step)["tiles"], [-1, batch_plan.INSTRUCTIONS]):
            if int(tf.reduce_min(order[batch_plan.TILE])) == 0:
                continue
            try:
                self._tile(order)
            except tf.errors.OpError as error:
                found[int(order[batch_plan.ROW]) % self.images] = _first_line(error)
        return found

    def _skip(self, image: int, why: str, step: int) -> None:
        if image in self._bad:
            return
        self._bad[image] = why
        self._traced = None
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


def _first_line(error: Any) -> str:
    text = str(error.message).split("\n")[0]
    for noise in ("{{function_node", "{{node"):
        text = text.split(noise)[-1].split("}}")[-1] if noise in text else text
    text = text.split(" [Op:")[0]  # what TensorFlow adds when an operation ran by itself
    return text.strip()[:200]
