"""The code of a remedy in torch, in JAX, and as a setting of `holdfast train`. What the other tables have is for Keras
and TensorFlow, or for any program."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.explain.finding import Values
from holdfast.report.wording.template import Text

#: Remedies whose usual code is that of Keras or tf.data. A program of another framework is given its own, or none.
KERAS_CODE = frozenset(
    """
    array.feed-in-parts batch.enlarge batch.shrink-to-dataset boxes.pad-batch cache.before-repeat cache.encoded
    cache.finite-part cache.on-disk cache.remove-locks checkpoint.backup-and-restore checkpoint.keep-fewer
    checkpoint.keep-two checkpoint.one-for-each-fit checkpoint.save-often checkpoint.save-while-training
    checkpoint.save-with-optimizer classes.focal-loss classes.weight compile.without-xla data.check-numerics
    dataset.repeat download.fetch-where-there-is-a-network dropout.before-output dropout.lower eager.compile-the-step
    eager.leave-out eager.switch-off epochs.more filter.before-repeat filter.count-what-passes
    fit.count-validation-in-batches fit.give-steps-per-epoch fit.give-validation-steps fit.more-epochs
    function.pass-tensors function.relax-shapes function.trace-once generator.make-a-dataset generator.make-endless
    generator.make-one-a-pass
    gpu.grow-memory gradients.clip group.same-batches image.decode-three-channels images.limit-size
    images.resize-before-batching initializer.random inputs.clip iterator.make-one-an-epoch iterator.repeat
    layer.add-activation learning-rate.lower learning-rate.more-patience learning-rate.raise
    learning-rate.schedule-to-the-end loop.take-steps loss.add-epsilon loss.from-logits loss.from-probabilities
    loss.one-output-a-class metric.of-rare-class model.add-normalisation model.clear-session model.normalise-inputs
    model.overfit-one-batch model.rescale-last model.scale-inputs model.unfreeze nan.raise-an-error norm.lower-momentum
    norm.over-more-values norm.use-layer-norm output.activation output.linear-for-numbers output.no-activation
    output.no-relu output.one-answer-each output.one-unit-each output.print-progress output.softmax-and-categorical
    pipeline.batch-once pipeline.log-errors pipeline.out-of-python pipeline.parallel-and-prefetch pipeline.repeat-first
    precision.keep-float32 precision.use-bfloat16 prefetch.two-batches record.write-again regulariser.weaken shapes.pad
    shuffle.before-decoding shuffle.smaller-buffer threads.use-fewer units.revive units.use-relu
    updates.more
    worker.use-fewer-or-threads
    """.split()  # noqa: SIM905
)


# Functions where the code has braces of its own.
def _save_torch(_: Values) -> str:
    return (
        'torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, "last.new")\n'
        'os.replace("last.new", "last.pt")'
    )


_TORCH: Mapping[str, Text] = {
    "array.feed-in-parts": "loader = DataLoader(TensorDataset(x, y), batch_size=32)",
    "batch.enlarge": "loader = DataLoader(data, batch_size=32, shuffle=True)",
    "batch.shrink-to-dataset": "loader = DataLoader(data, batch_size={records})   # or drop_last=False",
    "boxes.pad-batch": "loader = DataLoader(data, collate_fn=lambda rows: tuple(zip(*rows)))",
    "checkpoint.backup-and-restore": _save_torch,
    "checkpoint.keep-two": _save_torch,
    "checkpoint.save-often": _save_torch,
    "checkpoint.save-while-training": _save_torch,
    "checkpoint.save-with-optimizer": _save_torch,
    "classes.weight": "loss = nn.CrossEntropyLoss(weight=counts.sum() / (len(counts) * counts))",
    "dropout.before-output": "nn.Dropout(0.5),\nnn.Linear(features, classes),",
    "dropout.lower": "nn.Dropout(0.2)",
    "epochs.more": "for epoch in range({epochs}):",
    "function.relax-shapes": "step = torch.compile(step, dynamic=True)",
    "gradients.clip": "torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)   # between backward() and step()",
    "generator.make-one-a-pass": (
        "class Rows(IterableDataset):\n    def __iter__(self): return read(self.path)   # and not: return self.rows"
    ),
    "group.same-batches": "with model.join(): …   # or a DistributedSampler with drop_last=True",
    "images.limit-size": "image = torchvision.transforms.functional.resize(image, 640, max_size=1024)",
    "images.resize-before-batching": "image = torchvision.transforms.functional.resize(image, [512, 512])",
    "initializer.random": "nn.init.kaiming_normal_(layer.weight)",
    "inputs.clip": "x = x.clamp(-10, 10); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "iterator.make-one-an-epoch": "for batch in loader: …   # or iter(loader) in each epoch",
    "iterator.repeat": "from itertools import repeat\nbatches = (batch for _ in repeat(None) for batch in loader)",
    "layer.add-activation": "nn.Linear(inputs, units), nn.ReLU(),",
    "learning-rate.lower": "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)",
    "learning-rate.more-patience": (
        "torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=10, factor=0.5, min_lr=1e-5)"
    ),
    "learning-rate.raise": "optimizer = torch.optim.AdamW(model.parameters(), lr={learning_rate})",
    "learning-rate.schedule-to-the-end": (
        "torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)   # where step() is called at every step"
    ),
    "loss.add-epsilon": "torch.sqrt(x + 1e-8)   # not torch.sqrt(x)",
    "loss.from-logits": "nn.CrossEntropyLoss(), nn.BCEWithLogitsLoss()   # both take logits",
    "loss.from-probabilities": "F.nll_loss(torch.log(probabilities + 1e-8), labels), F.binary_cross_entropy(…)",
    "loss.one-output-a-class": "nn.Linear(features, classes)   # and nn.CrossEntropyLoss()",
    "model.add-normalisation": "nn.LayerNorm(features)",
    "model.clear-session": "del model, optimizer\ngc.collect()\ntorch.cuda.empty_cache()",
    "model.normalise-inputs": "x = (x - mean) / std   # register_buffer keeps both with the model",
    "model.overfit-one-batch": "batch = next(iter(loader))\nfor _ in range(200): step(batch)",
    "model.rescale-last": "return self.head(x) * std + mean",
    "model.scale-inputs": "x = x.float() / 255",
    "model.unfreeze": "model.requires_grad_(True)   # and its parameters in the optimizer",
    "norm.lower-momentum": "nn.BatchNorm2d(channels, momentum=0.1)   # the share of the new batch, not of the old ones",
    "norm.over-more-values": "nn.LayerNorm([channels, length])",
    "norm.use-layer-norm": "nn.GroupNorm(8, channels)",
    "output.linear-for-numbers": "nn.Linear(features, units)   # nothing behind it",
    "output.no-activation": "nn.Linear(features, units)   # nothing behind it",
    "output.no-relu": "nn.Linear(features, units)   # nothing behind it",
    "output.one-unit-each": "nn.Linear(features, classes)   # and nn.CrossEntropyLoss()",
    "output.print-progress": lambda values: 'print(f"step {step} loss {loss.item():.4f}", flush=True)',
    "output.softmax-and-categorical": "nn.Linear(features, classes)   # and nn.CrossEntropyLoss(), without a softmax",
    "pipeline.batch-once": "DataLoader(data, batch_size={size})   # or batches in the dataset and batch_size=None",
    "pipeline.out-of-python": "DataLoader(data, num_workers=4, persistent_workers=True)",
    "pipeline.parallel-and-prefetch": "DataLoader(data, num_workers=4, pin_memory=True, prefetch_factor=4)",
    "precision.keep-float32": "loss = F.cross_entropy(logits.float(), labels)",
    "precision.use-bfloat16": 'with torch.autocast("cuda", torch.bfloat16): …',
    "prefetch.two-batches": "DataLoader(data, num_workers=2, prefetch_factor=2)",
    "regulariser.weaken": "torch.optim.AdamW(model.parameters(), weight_decay=1e-4)",
    "shapes.pad": "torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)   # in collate_fn",
    "threads.use-fewer": "torch.set_num_threads(2)",
    "units.revive": "nn.LeakyReLU(0.01)   # and nn.init.kaiming_normal_(layer.weight)",
    "units.use-relu": "nn.ReLU()",
    "updates.more": "if (batch + 1) % {each} == 0:\n    optimizer.step()\n    optimizer.zero_grad()",
    "worker.use-fewer-or-threads": "DataLoader(data, num_workers=1)",
}
_JAX: Mapping[str, Text] = {
    "batch.enlarge": "batches = x.reshape(-1, 32, *x.shape[1:])",
    "boxes.pad-batch": "boxes = np.pad(boxes, ((0, most - len(boxes)), (0, 0)))   # and a mask",
    "dropout.lower": "nn.Dropout(0.2)",
    "epochs.more": "for epoch in range({epochs}):",
    "updates.more": "optimizer = optax.MultiSteps(optimizer, every_k_schedule={each})",
    "function.relax-shapes": "x = np.pad(x, ((0, longest - len(x)), (0, 0)))   # a few lengths, one program each",
    "function.trace-once": "step = jax.jit(step)   # once, outside of the loop",
    "gradients.clip": "optimizer = optax.chain(optax.clip_by_global_norm(10.0), optimizer)",
    "inputs.clip": "x = jnp.clip(x, -10, 10); optimizer = optax.chain(optax.clip_by_global_norm(1.0), optimizer)",
    "images.resize-before-batching": 'image = jax.image.resize(image, (512, 512, 3), "linear")',
    "initializer.random": "jax.nn.initializers.he_normal()(key, shape)",
    "layer.add-activation": "x = jax.nn.relu(x @ weights + bias)",
    "learning-rate.lower": "optax.warmup_cosine_decay_schedule(1e-5, 1e-3, 500, steps)",
    "learning-rate.raise": "optimizer = optax.adamw({learning_rate})",
    "learning-rate.schedule-to-the-end": "optax.cosine_decay_schedule(1e-3, decay_steps=updates)",
    "loss.add-epsilon": "jnp.sqrt(x + 1e-8)   # not jnp.sqrt(x); a `where` does not protect the gradient",
    "loss.from-logits": "optax.softmax_cross_entropy_with_integer_labels(logits, labels)",
    "model.normalise-inputs": "x = (x - mean) / std",
    "model.overfit-one-batch": "for _ in range(200): state, loss = step(state, batch)   # the same batch",
    "model.rescale-last": "return outputs * std + mean",
    "model.scale-inputs": "x = x.astype(jnp.float32) / 255",
    "norm.use-layer-norm": "nn.GroupNorm(num_groups=8)",
    "output.print-progress": lambda values: 'print(f"step {step} loss {float(loss):.4f}", flush=True)',
    "precision.use-bfloat16": "x, weights = x.astype(jnp.bfloat16), weights.astype(jnp.bfloat16)",
    "units.revive": "jax.nn.leaky_relu(x)",
    "units.use-relu": "jax.nn.relu(x)",
}
_RECIPE: Mapping[str, Text] = {
    "batch.accumulate-gradients": "holdfast train RECIPE --set train.micro_batch=auto",
    "batch.enlarge": "holdfast train RECIPE --set train.batch=16",
    "epochs.more": "holdfast train RECIPE --set train.epochs={epochs}",
    "gradients.clip": "holdfast train RECIPE --set train.clip_norm=10",
    "learning-rate.lower": "holdfast train RECIPE --set train.learning_rate=1e-4",
    "learning-rate.raise": "holdfast train RECIPE --set train.learning_rate={learning_rate}",
    "model.overfit-one-batch": "holdfast lr-find RECIPE   # does the loss fall at any learning rate?",
    "model.unfreeze": "holdfast train RECIPE --set train.freeze_steps=0 --set train.frozen_stages=0",
    "precision.half": "holdfast train RECIPE --set train.precision=bfloat16",
    "precision.use-bfloat16": "holdfast train RECIPE --set train.precision=bfloat16",
    "regulariser.weaken": "holdfast train RECIPE --set train.weight_decay=1e-4",
}
#: By the program that a remedy is for (`Remedy.program`).
CODE: Mapping[str, Mapping[str, Text]] = {"torch": _TORCH, "jax": _JAX, "recipe": _RECIPE}


def code_for(kind: str, program: str, usual: Text) -> Text:
    own = CODE.get(program)
    if own is None:
        return usual
    return own.get(kind, "" if kind in KERAS_CODE else usual)
