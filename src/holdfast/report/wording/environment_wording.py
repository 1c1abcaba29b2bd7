"""Sentences of causes in the script, its environment and several machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, filled
from holdfast.units import count

_BUILDS = {
    "tensorflow": 'pip uninstall tensorflow tensorflow-cpu\npip install "tensorflow[and-cuda]"',
    "jax": 'pip install "jax[cuda13]"',
    "torch": "pip uninstall torch\npip install torch --index-url https://download.pytorch.org/whl/cu128",
}
_AGENT = {
    "missing": "never came",
    "silent": "cannot be reached",
    "suspended": "is suspended",
    "waited-for": "holds up all others",
}

_OVER_A_SOCKET = {
    "listening": "it waits for another process, which does not connect[ to port {port}]",
    "connected": "it waits for another process, which is connected[ at port {port}] and sends nothing",
    "connecting": "it waits for another process, which does not answer[ at port {port}]",
    "retrying": "it tries again and again to connect to another process",
}

_BY_SCHEDULER = {
    "time-limit": "the job reached its time limit, and the scheduler ended it",
    "preempted": "the machine was taken back: the job was preempted",
    "evicted": "the pod was evicted from its node",
    "cancelled": "the job was cancelled",
    "requeued": "the job was put back into the queue (requeued)",
}


def _build(values: Mapping[str, Any]) -> str:
    return _BUILDS.get(values["backend"], _BUILDS["tensorflow"])


def _times(values: Mapping[str, Any]) -> str:
    """ "32 times in 1,200 steps" """
    times = f"{count(values['compiles'])} times"
    unit = "step" if values["counted_steps"] else "call"
    return f"{times} in {count(values['calls'], unit)}" if values["calls"] else times


def _lost(values: Mapping[str, Any]) -> str:
    how = filled("was ended by {signal}" if values["signal"] else "ended with exit code {exit_code}", values)
    return f"process {values['rank']} of the group {how}"


def _port(values: Mapping[str, Any]) -> str:
    return f"port {values['port']}" if values["port"] else "the port that it needs"


TITLES: dict[str, Text] = {
    "script-error": "[{caught:if}every fit failed, and the script continued: ]{error}[ at {where}]"
    "[: {message:clip 160}]",
    "script-error.reader-gone": "the reader of its output is gone: {error}[ at {where}]",
    "script-error.trainer": "{what}[ ({where})]",
    "script-error.self-signal": "the script sent itself {signal}[ at {where}]",
    "script-error.timer": "a timer of its own fired ({signal}; signal.alarm or setitimer), and nothing handled it",
    "script-error.closed-pipe": "it wrote to a pipe whose reader was gone (SIGPIPE)",
    "script-error.exit-call": "the script ended itself by {by}[ at {where}][: {message:clip 160}]"
    "[{on_purpose:if}, with exit code 0, before all planned steps were done]",
    "script-error.exit-code": "the command ended itself with exit code {exit_code}[: {complaint:clip 120}]",
    "gpu-not-used": "{gpus:list 3} is there, and training runs on the CPU",
    "eager-execution": "the training step is run operation by operation instead of compiled",
    "recompiling": lambda values: (
        f"XLA compiles {values['function']} again for every new shape: {_times(values)}"
    ),
    "recompiling.every-batch": "XLA compiles {function} again for nearly every batch: about {compiles:count} times in "
    "{steps:count step}",
    "recompiling.slow": "XLA reported a very slow compile",
    "gpu-not-used.unusable": "the GPU cannot be used: the framework does not fit the GPU or its driver, or has no CUDA",
    "port-in-use": lambda values: f"{_port(values)} is in use by another process",
    "illegal-instruction.refused": "the CPU does not support an instruction of a library, which refuses to load",
    "illegal-instruction": "the CPU does not support an instruction of a library (SIGILL)",
    "download-blocked": "{address:or an address} could not be reached",
    "download-blocked.refused": "the server refused {address:or a download}: {status} {reason}",
    "download-blocked.broke-off": "a download broke off: {error:clip 120}",
    "download-blocked.waits": "it waits for the network before training[, from {where}]",
    "preempted": "it was asked to end by SIGTERM: a scheduler, a cloud or a person stopped it",
    "preempted.by-scheduler": lambda values: _BY_SCHEDULER[values["end"]],
    "preempted.group-interrupted": "it was interrupted from the terminal (SIGINT, Ctrl-C), and all processes of the "
    "group ended",
    "host-rebooted": "the machine restarted during the run",
    "host-rebooted.node-failed": "the scheduler lost {nodes:list 3}, a node of the job",
    "peer-missing": "another machine of the group is not there",
    "peer-missing.elsewhere": "one process of the group waits for the others, and another one is elsewhere[, at "
    "{where}][{steps:if}: they did not do the same number of steps]",
    "peer-missing.joining": "it waits for the other machines to join",
    "peer-missing.socket": lambda values: filled(_OVER_A_SOCKET[values["state"]] + "[, at {where}]", values),
    "peer-missing.or-data": lambda values: filled(
        _OVER_A_SOCKET[values["state"]] + "[, at {where}]: one of its group, or one that sends data", values
    ),
    "peer-missing.lost": _lost,
    "peer-missing.agent": lambda values: f"process {values['rank']} of the group {_AGENT[values['remark']]}",
    "peer-missing.rejected": "the coordinator turned away a process that asked to join the group",
    "peer-missing.network": "the network between the processes of the group does not carry a step",
    "uneven-batches": "the processes of the group do not have the same number of batches",
}

FACTS: dict[str, Text] = {
    "error.caught": "the script caught it and continued, so the exit code is 0",
    "error.came-from": "it came from {text:clip 200}",
    "error.found": "{text:clip 300}",
    "pipeline.generator": "the generator is {function}, at {where}",
    "signal.self-sent": "os.kill was called on the process itself[ at {where}]",
    "signal.kill-followed": "SIGKILL followed, as schedulers send it after a grace period",
    "exit.called": "{by} was called[ at {where}][ in phase {phase}][: {message:clip 160}]",
    "exit.no-traceback": "it ended with exit code {exit_code} and printed no traceback",
    "exit.timer-armed": "the script had already finished: its signal handlers were removed, but the timer was still "
    "armed",
    "machine.gpus": "the machine has {gpus:list 3}",
    "framework.devices": "the framework sees only {devices:list 4}",
    "framework.parameters": "the parameters that the optimizer updates are on {devices:list 3}",
    "framework.without-cuda": "this build of {framework} has no CUDA",
    "environment.variable": "{variable} is '{value}'",
    "environment.cpu-chosen": "{variable} selects the CPU",
    "loop.runs-eagerly": "the loop at {where} applies gradients outside of any tf.function",
    "model.runs-eagerly": lambda values: (
        "all functions run eagerly: tf.config.run_functions_eagerly(True)"
        if values["everywhere"]
        else filled(
            "the model runs eagerly: run_eagerly=True, or tf.config.run_functions_eagerly[ ({where})]", values
        )
    ),
    "steps.duration": "a step takes {seconds:duration}; compiled, it would take a tenth where operations are small",
    "gpu.never-opened": "no process of the run had memory on the GPU at any of {looks:count look}",
    "arguments.gpu-asked": "the script was given {argument}",
    "arguments.cpu-asked": "the script was given {argument}",
    "environment.cpu-set-inside": "{where} sets {variable} for the whole process when it is imported",
    "compile.counted": lambda values: (
        filled("{function}[ ({where})] was compiled ", values)
        + _times(values)
        + filled("[, which took {seconds:duration}]", values)
    ),
    "compile.by-xla": lambda values: (
        "it is compiled by XLA (jit_compile)" if values["jit_compile"] else "JAX compiles every new shape"
    ),
    "compile.signatures": "the last ones: {last:list 3}",
    "compile.machine-code": "executable memory of {function}[ ({where})] grew from {first_regions} to {last_regions} "
    "regions in {steps:count step}: {compiles:count} times what the first program took",
    "scheduler.answered": "{scheduler} said of job {job} then[: {state}]"
    "[; {left_s:duration} were left of its time limit]",
    "scheduler.node-failed": "node {node} is {state}",
    "boot.changed": "the boot id of the machine has changed since the run was started",
    "boot.other-host": "another machine of the same name looks like this too: a pod that was moved",
    "end.not-recorded": "no end was recorded, neither of the process nor of the supervisor",
    "group.stop-requested": "the group was asked to stop: {text}",
    "group.elsewhere": "process {pid} is at {where}",
    "socket.listens": "port {port} waits for connections: {clients:count connection} so far",
    "socket.traffic": "over that connection {sent:size} were sent and {received:size} received",
    "group.configured": "{variable} names several machines",
    "group.batches": lambda values: (
        "batches in a pass over the data, by process: "
        + ", ".join(f"{pid}: {batches:,}" for pid, batches in values["by_process"].items())
    ),
    "group.steps": lambda values: (
        "steps by process: " + ", ".join(f"{rank}: {steps:,}" for rank, steps in values["by_rank"].items())
    ),
}

REMEDIES: dict[str, Advice] = {
    "module.install": Advice("install the package that has the module {module}", "pip install {module}"),
    "package.version": Advice("install a version of {package} that fits the other packages, or update it"),
    "traceback.read": Advice("read the traceback in output.log from its end"),
    "generator.match-signature": Advice(
        "change what {function} yields ({where}), or the signature that it was given"
    ),
    "input.use-an-option": Advice(
        "nobody is there to answer: let {where} take it from an option, or start it at a terminal"
    ),
    "line.find-what-reaches-it": Advice(
        lambda values: (
            f"look at what makes it reach {values['where']}" if values["where"] else "look for what calls it"
        )
    ),
    "error.change": Advice("{text}"),
    "output.write-to-a-file": Advice(
        "write to a file, and read that: `head` and a closed viewer end before the training does",
        "python train.py > train.log 2>&1",
    ),
    "output.read-its-end": Advice(
        "read the last lines of output.log; a script that ends by sys.exit gives its reason there, if anywhere"
    ),
    "timer.handle-or-stop": Advice(
        "handle the signal, and stop the timer before the script is over", "signal.alarm(0)"
    ),
    "model.move-to-gpu": Advice(
        "move the model and every batch to the GPU",
        'model.to("cuda")\nimages, targets = images.to("cuda"), targets.to("cuda")',
    ),
    "framework.install-for-driver": Advice(
        "where torch.cuda.is_available() is False, install the build that fits the driver", _build
    ),
    "port.end-the-other": Advice(
        "see which process listens there, and end it if it is left from an earlier run",
        "ss -ltnp[ 'sport = :{port}']",
    ),
    "port.use-another": Advice(
        "use another port",
        lambda values: "torchrun --standalone …   # takes a free one" if values["torch"] else "",
    ),
    "framework.install-with-cuda": Advice("install the build that has CUDA, and only that one", _build),
    "eager.compile-the-step": Advice(
        "put what one step does into a function and compile it", "@tf.function\ndef train_step(x, y): …"
    ),
    "eager.leave-out": Advice(
        "leave it out, except for debugging", "model.compile(…)   # without run_eagerly=True"
    ),
    "eager.switch-off": Advice(
        "leave it out, except for debugging", "tf.config.run_functions_eagerly(False)"
    ),
    "shapes.pad": Advice(
        "pad to one size, or to a few", "ds = ds.padded_batch(8, padded_shapes=([512, 512, 3], [100, 4]))"
    ),
    "shapes.use-a-few": Advice("use a few lengths, each padded to the next: one compile for each"),
    "environment.set-in-workers": Advice(
        "let only the processes that need it choose the CPU",
        'def start():\n    os.environ.update({variable}="cpu")\nProcessPoolExecutor(initializer=start)',
    ),
    "compile.without-xla": Advice(
        "leave XLA out where shapes must vary", "model.compile(…, jit_compile=False)"
    ),
    "cpu.use-one-with-avx": Advice(
        "use a machine whose CPU has AVX, or a build for older CPUs", "grep -o -m1 avx /proc/cpuinfo"
    ),
    "download.fetch-where-there-is-a-network": Advice(
        "fetch the file where there is a network, and give its path",
        'keras.applications.ResNet50(weights="resnet50.weights.h5")',
    ),
    "download.remove-half-files": Advice("remove what an earlier download left incomplete in ~/.keras"),
    "download.check-address": Advice("check the address: is the file still there, and does it need a login?"),
    "download.fetch-beforehand": Advice("fetch the file beforehand, and give its path"),
    "run.start-if-it-resumes": Advice(
        "start the same command again: it resumes if the script loads what it saved"
    ),
    "checkpoint.save-while-training": Advice(
        "save while training, so that the same command can resume",
        'keras.callbacks.BackupAndRestore("backup", save_freq=500, double_checkpoint=True)',
    ),
    "scheduler.ask-for-more": Advice("ask for more time, or for a machine that is not reclaimed"),
    "scheduler.look-at-the-node": Advice(
        "look at the node, or ask who looks after it; the scheduler starts the job again without it",
        lambda values: f"scontrol show node {','.join(values['nodes'])}",
    ),
    "boot.find-out-why": Advice("find out why: power, heat, an update", "journalctl -b -1 -e"),
    "group.start-all": Advice(
        "start all of them, and check that each can reach the others' address and port", "nc -zv HOST PORT"
    ),
    "group.start-others": Advice(
        "start the process that it waits for, or wait for as many as are started; look at why the other one ended"
    ),
    "group.with-timeout": Advice(
        "give the wait a timeout, so that it raises", "socket.setdefaulttimeout(300)"
    ),
    "group.same-addresses": Advice("the addresses in TF_CONFIG must be the same on all, in the same order"),
    "group.same-token": Advice(
        "give all hosts the same token and the same version of Holdfast", "--token-file group.token"
    ),
    "group.explain-agent": Advice(
        "look at that process, which has a run folder of its own", "holdfast explain RUN/peers/{rank}"
    ),
    "group.same-collectives": Advice(
        "let every process call the same collectives in the same order: none of them inside `if rank == 0`",
    ),
    "group.join-uneven": Advice(
        "let the process that is done shadow the others' collectives",
        "with torch.distributed.algorithms.join.Join([model]): …   # or DistributedSampler(ds, drop_last=True)",
    ),
    "group.same-batches": Advice(
        "give every process the same number: drop the remainder, or repeat and count steps",
        "ds = ds.shard(n, i).repeat().batch(b, drop_remainder=True)   # and steps_per_epoch",
    ),
}

RULED_OUT: dict[str, Text] = {}
