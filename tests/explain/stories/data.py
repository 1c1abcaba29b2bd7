"""Supply and content of data."""

from __future__ import annotations

from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, main_in_fit, native, pipeline


def input_starved(run: Run) -> None:
    run.fit(data_wait="sampled")
    run.samples(
        30,
        rss_bytes=600 * MIB,
        phase="step",
        fit=1,
        step=lambda n: 4 * n + 4,
        cpu_s=lambda n: 1.9 * n,
        data_wait_s=lambda n: 0.9 * n,
        compute_s=lambda n: 0.1 * n,
    )
    run.epochs([100, 100, 100])
    run.ended(0)


def near_input_starved(run: Run) -> None:
    run.fit(data_wait="sampled")
    run.samples(
        30,
        rss_bytes=600 * MIB,
        phase="step",
        fit=1,
        step=lambda n: 4 * n + 4,
        cpu_s=lambda n: 1.9 * n,
        data_wait_s=lambda n: 0.1 * n,
        compute_s=lambda n: 0.9 * n,
    )
    run.epochs([100, 100, 100])
    run.ended(0)


def storage_slow(run: Run) -> None:
    run.fit(data_wait="sampled")
    run.samples(
        30,
        rss_bytes=600 * MIB,
        phase="step",
        fit=1,
        step=lambda n: n + 1,
        cpu_s=lambda n: 0.2 * n,
        data_wait_s=lambda n: 0.9 * n,
        compute_s=lambda n: 0.1 * n,
        thread_states={"S": 30, "D": 2},
        waits={"folio_wait_bit_common": 2},
        pressure={"io.some": 60.0},
        disk_read_bytes=lambda n: 6 * MIB * n,
    )
    run.epochs([100, 100, 100])
    run.ended(0)


def near_storage_slow(run: Run) -> None:
    """As starved, but the loader computes."""
    run.fit(data_wait="sampled")
    run.samples(
        30,
        rss_bytes=600 * MIB,
        phase="step",
        fit=1,
        step=lambda n: n + 1,
        cpu_s=lambda n: 1.9 * n,
        data_wait_s=lambda n: 0.9 * n,
        compute_s=lambda n: 0.1 * n,
        thread_states={"S": 30, "R": 2},
        waits={"futex_do_wait": 30},
    )
    run.epochs([100, 100, 100])
    run.ended(0)


def input_blocked(run: Run) -> None:
    run.fit()
    run.stalled("data-wait", main_in_fit(), native(wait="wait_for_partner", syscall="openat", name="python"))
    run.stopped()


def near_input_blocked(run: Run) -> None:
    """It went on by itself."""
    run.fit()
    run.stalled("data-wait", main_in_fit(), native(wait="wait_for_partner"))
    run.supervisor(ev.StallEnded(silent_for_s=95.0))
    run.epochs([100, 100, 100])
    run.ended(0)


def _epochs_with_first_step(run: Run, first_step_s: float) -> None:
    for epoch in range(4):
        run.probe(
            ev.EpochDone(
                epoch=epoch,
                steps=50,
                duration_s=first_step_s + 0.5,
                first_step_s=first_step_s,
                logs={"loss": 1.0 / (epoch + 1)},
            )
        )
    run.probe(ev.FitDone(steps=200, epochs=4, epochs_done=4, steps_by_epoch=[50] * 4))
    run.ended(0)


def shuffle_refill_pause(run: Run) -> None:
    run.fit(
        epochs=4,
        steps=50,
        data=pipeline({"op": "map"}, {"op": "shuffle", "buffer_size": 2000, "where": "train.py:12"}),
    )
    _epochs_with_first_step(run, 4.5)


def near_shuffle_refill_pause(run: Run) -> None:
    run.fit(epochs=4, steps=50, data=pipeline({"op": "shuffle", "buffer_size": 2000}, {"op": "map"}))
    _epochs_with_first_step(run, 0.05)


# -- content --------------------------------------------------------------------------------------


def dataset_empty(run: Run) -> None:
    run.fit(
        steps=None, data=ev.DatasetSeen(type="tf.data", cardinality=-2, file_count=0, where="train.py:20")
    )
    run.probe(
        ev.WarningSeen(category="UserWarning", text="Your input ran out of data; interrupting training.")
    )
    run.probe(ev.FitDone(steps=0, epochs=3, epochs_done=3, steps_by_epoch=[0, 0, 0]))
    run.ended(0)


def near_dataset_empty(run: Run) -> None:
    """A healthy dataset of unknown size: the same warning."""
    run.fit(steps=None, data=ev.DatasetSeen(type="tf.data", cardinality=-2, where="train.py:20"))
    run.probe(
        ev.WarningSeen(category="UserWarning", text="Your input ran out of data; interrupting training.")
    )
    run.epochs([25, 25, 25])
    run.ended(0)


def dataset_smaller_than_batch(run: Run) -> None:
    run.fit(
        steps=0,
        data=pipeline(
            {"op": "range", "cardinality": 3},
            {"op": "batch", "batch_size": 8, "drop_remainder": True, "where": "train.py:9"},
            cardinality=0,
        ),
    )
    run.probe(ev.FitDone(steps=0, epochs=3, epochs_done=3, steps_by_epoch=[0, 0, 0]))
    run.ended(0)


def near_dataset_smaller_than_batch(run: Run) -> None:
    run.fit(
        data=pipeline(
            {"op": "range", "cardinality": 800}, {"op": "batch", "batch_size": 8, "drop_remainder": True}
        )
    )
    run.epochs([100, 100, 100])
    run.ended(0)


def undecodable_image(run: Run) -> None:
    run.fit(data=ev.DatasetSeen(type="tf.data", cardinality=100, files=["a.jpg", "b.jpg"], file_count=2))
    run.probe(
        ev.BadFilesFound(
            files=[{"path": "train/b.jpg", "what": "a JPEG without its end", "bytes": 40}], looked_at=2, of=2
        )
    )
    run.raised(
        "InvalidArgumentError",
        "Graph execution error:\n\nDetected at node IteratorGetNext\njpeg::Uncompress failed. Invalid JPEG data "
        "or crop window.\n\t [[{{node DecodeJpeg}}]]",
    )


def near_undecodable_image(run: Run) -> None:
    """A library's line about a damaged picture that did not end it."""
    run.output("Corrupt JPEG data: 2692 extraneous bytes before marker 0xd9\n")
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)


_STACKS = "Cannot add tensor to the batch: number of elements does not match. Shapes are: [tensor]: [{}], [batch]: [{}]"


def wrong_channels(run: Run) -> None:
    run.raised("InvalidArgumentError", "Graph execution error:\n\n" + _STACKS.format("64,64,4", "64,64,3"))


def near_wrong_channels(run: Run) -> None:
    run.raised("InvalidArgumentError", "Graph execution error:\n\n" + _STACKS.format("80,64,3", "64,64,3"))


def mixed_image_sizes(run: Run) -> None:
    near_wrong_channels(run)


def near_mixed_image_sizes(run: Run) -> None:
    wrong_channels(run)


def corrupt_record(run: Run) -> None:
    run.fit(data=ev.DatasetSeen(type="tf.data", cardinality=-2, files=["train.tfrecord"], file_count=1))
    run.raised("DataLossError", "Graph execution error:\n\ntruncated record at 59944 [Op:IteratorGetNext]")


def near_corrupt_record(run: Run) -> None:
    run.raised(
        "DataLossError", "Unable to open table file ckpt-3: not an sstable (bad magic number): checkpoint"
    )


def data_silently_dropped(run: Run) -> None:
    run.fit(
        steps_per_epoch=25,
        steps=25,
        data=pipeline({"op": "tfrecord"}, {"op": "ignore_errors", "where": "train.py:18"}, cardinality=-2),
    )
    run.epochs([15, 15, 15])
    run.ended(0)


def near_data_silently_dropped(run: Run) -> None:
    run.fit(steps=25, data=pipeline({"op": "tfrecord"}, {"op": "ignore_errors"}, cardinality=-2))
    run.epochs([25, 25, 25])
    run.ended(0)


def _broke(**more: object) -> ev.NonFiniteSeen:
    values = {
        "what": "loss",
        "name": "loss",
        "step": 33,
        "value": "nan",
        "last_finite": 0.6,
        "weights_finite_before": True,
        "precision": "float32",
        "learning_rate": 0.01,
        "detail": {"recent_steps": [0.9, 0.8, 0.7, 0.75, 0.65, 0.6]},
        **more,
    }
    return ev.NonFiniteSeen(**values)  # type: ignore[arg-type]


_EXPLODES = {"recent_steps": [0.9, 0.8, 24.0, 900.0, 4e6, 4.5e21], "boxes": {"inverted": 1, "rows": [217]}}


def bad_boxes(run: Run) -> None:
    run.fit()
    detail = {"recent_steps": [0.9, 0.8, 0.7], "boxes": {"inverted": 1, "rows": [217]}}
    run.probe(_broke(detail=detail))
    run.epochs([100, 100, 100], [float("nan")] * 3)
    run.ended(0)


def near_bad_boxes(run: Run) -> None:
    """The same box, but the loss had grown for several steps."""
    run.fit()
    run.probe(_broke(detail=_EXPLODES))
    run.epochs([100, 100, 100], [float("nan")] * 3)
    run.ended(0)


def class_id_out_of_range(run: Run) -> None:
    run.raised(
        "InvalidArgumentError",
        "Graph execution error:\n\nReceived a label value of 3 which is outside the valid range of [0, 3).  "
        "Label values: 0 3 1",
    )


def near_class_id_out_of_range(run: Run) -> None:
    run.raised("ValueError", "labels must be between 0 and 2")


def _parts(run: Run, box: float) -> None:
    run.fit()
    for step in range(1, 9):
        run.probe(
            ev.LossSeen(step=20 * step, logs={"loss": 1.0 / step, "box_loss": box, "class_loss": 1.0 / step})
        )
    run.epochs([100, 100, 100])
    run.ended(0)


def no_positive_anchors(run: Run) -> None:
    _parts(run, 0.0)


def near_no_positive_anchors(run: Run) -> None:
    _parts(run, 0.004)


def input_not_finite(run: Run) -> None:
    run.fit()
    run.probe(_broke(input_finite=False))
    run.epochs([100, 100, 100], [float("nan")] * 3)
    run.ended(0)


def near_input_not_finite(run: Run) -> None:
    run.fit()
    run.probe(_broke(input_finite=True))
    run.epochs([100, 100, 100], [float("nan")] * 3)
    run.ended(0)


def _scaled(run: Run, *layers: str) -> None:
    run.fit(
        epochs=5,
        data=ev.DatasetSeen(
            type="array", cardinality=100, statistics={"x": {"min": 0.0, "max": 255.0, "finite": True}}
        ),
    )
    run.probe(
        ev.ModelSeen(
            parameters=1000,
            trainable_parameters=1000,
            layer_kinds=dict.fromkeys(("Conv2D", "Dense", *layers), 1),
        )
    )
    run.epochs([100] * 5, [2.3, 2.31, 2.3, 2.3, 2.3])
    run.ended(0)


def input_scale_mismatch(run: Run) -> None:
    _scaled(run)


def near_input_scale_mismatch(run: Run) -> None:
    _scaled(run, "Rescaling")
