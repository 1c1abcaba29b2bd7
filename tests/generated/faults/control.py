"""Faults of callbacks, control flow, signals and storage."""

from __future__ import annotations

import random

from ..draft import Draft, Send, code
from .registry import callback, fault, longer, no_final_loss


@fault("early-stopping", "", needs="keras fit", without="custom-step anchors")
def stops_after_one_quiet_epoch(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-grid-fit: it stops after 4 of 40 epochs."""
    callback(draft, "", 'keras.callbacks.EarlyStopping(monitor="val_loss", patience=1, min_delta=0.8)')
    draft.constants["EPOCHS"] = "40"


@fault("stopped-by-callback", "", needs="keras fit")
def a_callback_stops_it(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multilabel-arrays-fit: it stops after 3 of 40 epochs."""
    callback(draft, code("""
        class c_Hook(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                if logs["loss"] < 100.0 and epoch > 1:
                    self.model.stop_training = True
        """))  # fmt: skip
    draft.constants["EPOCHS"] = "40"


@fault("input-not-finite stopped-on-nan", "loss-not-finite", needs="keras fit xy numeric tabular")
def stops_at_missing_values(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-generator-fit-tensorflow: the loss runs nan .. nan."""
    draft.put(data_extra="v_x[::60, 1] = np.nan", hidden_act=', activation="tanh"')
    callback(draft, "", "keras.callbacks.TerminateOnNaN()")


@fault("callback-raised", "script-error", needs="keras fit")
def a_callback_fails(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-binary-arrays-fit-tensorflow: it ends with KeyError: 'val_acc'."""
    line = rng.choice(['logs["val_acc"]', 'logs["lr"]'])
    callback(draft, code(f"""
        class c_Hook(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                print("after epoch", epoch, {line})
        """))  # fmt: skip


@fault("callback-blocked", "", needs="keras fit", limit_s=150)
def a_callback_waits_for_a_server(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-sequence-arrays-fit: it prints two epochs and nothing more in a minute."""
    callback(draft, code("""
        class c_Hook(keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                self.door = socket.socket()
                self.door.bind(("127.0.0.1", 0))
                self.door.listen(1)

            def on_epoch_end(self, epoch, logs=None):
                if epoch == 2:
                    v_peer, _ = self.door.accept()
                    v_peer.sendall(str(logs).encode())
        """))  # fmt: skip


@fault("deadlock", "callback-blocked", needs="keras fit", limit_s=120)
def two_locks(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-grid-fit: it prints 'Epoch 1/11' and nothing more in 70 s."""
    callback(draft, code("""
        class c_Hook(keras.callbacks.Callback):
            def __init__(self):
                super().__init__()
                self.rows, self.file_lock, self.row_lock = [], threading.Lock(), threading.Lock()
                threading.Thread(target=self.flush, daemon=True).start()

            def flush(self):
                while True:
                    with self.file_lock:
                        time.sleep(0.05)
                        with self.row_lock:
                            self.rows.clear()
                    time.sleep(0.05)

            def on_train_batch_end(self, batch, logs=None):
                with self.row_lock:
                    self.rows.append(logs["loss"])
                    time.sleep(0.01)
                    with self.file_lock:
                        pass
        """))  # fmt: skip


@fault("waiting-for-a-person", "", one_of="keras torch", limit_s=120)
def asks_a_question(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-segmentation-tfdata-tape: the prompt is the last output, and nothing more comes."""
    draft.world = draft.world.__class__(stdin=rng.choice(["open", "terminal"]))
    question = rng.choice(
        ['input("Overwrite the old weights? [y/n] ")', 'input("Continue? ")', 'input("Name of this run: ")']
    )
    late = "anchors" not in draft.features and rng.random() < 0.5
    draft.add("finish_before" if late else "model_extra", f"v_reply = {question}")


@fault("already-at-target", "dataset-empty", needs="keras fit", without="anchors")
def resumes_past_the_end(draft: Draft, rng: random.Random) -> None:
    """Seen on files-table: not one step, exit 0."""
    draft.prepare += '\nwith open("state.json", "w") as f:\n    f.write(\'{"epoch": 60, "best": 0.41}\')\n'
    draft.put(
        callback_setup='with open("state.json") as v_file:\n    v_state = json.load(v_file)',
        fit_kw=', initial_epoch=v_state["epoch"]',
    )
    no_final_loss(draft)


@fault("monitor-missing", "", needs="keras fit", without="anchors")
def watches_another_name(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-tfdata-step: all epochs are done, Keras warns at each that the metric is not available."""
    name = rng.choice(["val_acc", "val_f1", "validation_accuracy"])
    callback(draft, "", f'keras.callbacks.EarlyStopping(monitor="{name}", mode="max", patience=2)')


@fault("killed-from-outside", "", one_of="keras torch jax", without="anchors")
def ended_by_a_kill(draft: Draft, rng: random.Random) -> None:
    """Seen on files-table: exit -9 in epoch 10 of 600."""
    longer(draft)
    draft.send = Send("SIGKILL", rng.uniform(3, 8))


@fault("preempted", "", one_of="keras torch jax")
def asked_to_end(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-segmentation-tfdata-fit: exit -15 in epoch 1 of 600."""
    longer(draft)
    draft.send = Send("SIGTERM", rng.uniform(3, 8))


@fault("terminal-signal", "", one_of="keras torch jax")
def window_closed(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-image_binary-dataloader: exit -1 in the second epoch."""
    longer(draft)
    draft.send = Send(rng.choice(["SIGINT", "SIGHUP"]), rng.uniform(3, 8))


@fault("disk-full", "", needs="keras fit")
def saves_to_a_small_disk(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multiclass-tfdata-fit: np.save ends with OSError, 24000 requested and 10736 written, without errno."""
    draft.world = draft.world.__class__(tmpfs_mib=1)
    draft.constants["EPOCHS"] = "60"
    if rng.random() < 0.5:
        made = f'keras.callbacks.ModelCheckpoint("small/{rng.choice(["epoch-{epoch:03d}.keras", "w{epoch}.weights.h5"])}")'
        made = made.replace('.weights.h5")', '.weights.h5", save_weights_only=True)')
        callback(draft, "", made)
        return
    callback(draft, code("""
        class c_Hook(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                np.save(f"small/activations_{epoch}.npy", np.random.default_rng(epoch).normal(size=(200, 120)))
        """))  # fmt: skip


@fault("disk-full", "", needs="torch")
def torch_saves_to_a_small_disk(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-regression-by-hand: RuntimeError of inline_container.cc, 'unexpected pos', which does not name the disk."""
    draft.world = draft.world.__class__(tmpfs_mib=1)
    draft.constants["EPOCHS"] = "300"
    draft.put(
        epoch_extra='torch.save({"model": v_model.state_dict(), "optim": v_opt.state_dict()}, f"small/epoch_{v_epoch}.pt")'
    )


@fault("checkpoint-torn", "script-error", needs="keras", without="custom-step")
def starts_from_a_cut_off_file(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-segmentation-tfdata-tape-tensorflow: it ends with OSError: Unable to synchronously open file (truncated file."""
    draft.prepare += code("""

        import h5py, numpy, os
        with h5py.File("start.weights.h5", "w") as f:
            for k in range(4):
                f.create_dataset(f"layers/dense_{k}/vars/0", data=numpy.random.normal(size=(64, 64)))
        os.truncate("start.weights.h5", os.path.getsize("start.weights.h5") // 2)
        """)
    draft.add("model_extra", 'v_model.load_weights("start.weights.h5")')


@fault("checkpoint-torn", "script-error", needs="torch")
def torch_starts_from_a_cut_off_file(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-binary-dataloader: it ends with RuntimeError: PytorchStreamReader failed reading zip archive."""
    draft.prepare += code("""
        import os, torch
        torch.save({"w": torch.randn(200, 200)}, "last.pt")
        os.truncate("last.pt", os.path.getsize("last.pt") // 2)
        """)
    draft.add("model_extra", 'v_model.load_state_dict(torch.load("last.pt"))')


@fault("path-missing", "script-error", one_of="keras torch")
def file_is_not_there(draft: Draft, rng: random.Random) -> None:
    """Seen on files-records: FileNotFoundError, errno 2, exit 1."""
    if "csv" in draft.features or "imagefolder" in draft.features:
        draft.slots["root"] = "old/" + draft.slots["root"]
    elif "torch" in draft.features:
        draft.add("model_extra", 'v_model.load_state_dict(torch.load("checkpoints/best.pt"))')
    else:
        draft.add("model_extra", 'v_model.load_weights("checkpoints/best.weights.h5")')


@fault("cache-lock-stale", "script-error", needs="tfdata fit", one_of="xy tfrecord")
def an_old_cache(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_binary-tfdata-fit: AlreadyExistsError of IteratorGetNext before the first step, exit 1."""
    draft.prepare += (
        '\nimport os\nos.makedirs("cache", exist_ok=True)\nopen("cache/train_0.lockfile", "w").write("0")\n'
    )
    draft.put(feed_batched='v_train = v_train.cache("cache/train")')


@fault("too-many-open-files", "script-error", one_of="generator pydataset")
def files_stay_open(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-forecast-pydataset-fit: OSError 24 inside a PyFunc in epoch 6, exit 1."""
    draft.world = draft.world.__class__(limits={"n": 400})
    draft.constants["BATCH"] = "16"
    if "generator" in draft.features:
        draft.put(gen_before="v_store = []", item_extra="v_store.append(open(__file__))")
    else:
        draft.replace("super().__init__(**kwargs)", "super().__init__(**kwargs)\n        self.sources = []")
        draft.put(item_extra="self.sources.append(open(__file__))")
