"""Hand-made run folders: events, samples, stacks and output as the supervisor and the probe would leave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.explain import Finding, Remedy, Strength, Verdict, explain
from holdfast.explain.finding import Values
from holdfast.journal import events as ev
from holdfast.journal import stack_files, vitals
from holdfast.journal.stack_files import Capture, Frame, ProcessStacks, StackSnapshot, Thread
from holdfast.journal.writer import JournalWriter
from holdfast.report import wording
from holdfast.report.comparison import since_last_good
from holdfast.report.verdict_json import as_json

MIB, GIB = 1 << 20, 1 << 30

# -- the data of a finding ----------------------------------------------------------------------------


def facts(finding: Finding) -> dict[str, Values]:
    """The values of its facts by their kind."""
    return {fact.kind: fact.values for fact in finding.because}


def remedies(finding: Finding) -> list[str]:
    """The kinds of its remedies."""
    return [remedy.kind for remedy in finding.remedies]


# -- the words of a verdict ---------------------------------------------------------------------------

sentence = wording.sentence
why_of = wording.why_not


def title_of(finding: Finding) -> str:
    return wording.title(finding.title)


def do_of(remedy: Remedy) -> str:
    return wording.advice(remedy)[0]


def code_of(remedy: Remedy) -> str:
    return wording.advice(remedy)[1]


def summary_of(verdict: Verdict) -> str:
    return wording.summary(verdict.summary)


def changes_of(verdict: Verdict) -> list[str]:
    return since_last_good(verdict.changes)


NOW = 1_800_000_000.0


class Run:
    """A run of `python train.py` under a limit of 2 GiB, opened and started."""

    def __init__(
        self,
        path: Path,
        *,
        limit: int | None = 2 * GIB,
        host: str = "elsewhere",
        watch: str = "run",
        **machine: Any,
    ) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._clock = NOW - 1000
        wall, mono = self._tick, lambda: self._clock - (NOW - 1100)
        self._supervisor = JournalWriter(path / "journal.jsonl", by="supervisor", wall=wall, monotonic=mono)
        self._probe = JournalWriter(path / "journal.jsonl", by="probe", wall=wall, monotonic=mono)
        self.supervisor(
            ev.RunOpened(
                command=["python", "train.py"],
                host=host,
                boot_id="b",
                cpus=2,
                memory_bytes=16 * GIB,
                watch=watch,
            )
        )
        self.supervisor(ev.MachineRead(cgroup=2, memory_limit_bytes=limit, oom_kills=0, **machine))
        self.supervisor(ev.AttemptStarted(command=["python", "train.py"], pid=4000))

    def _tick(self) -> float:
        self._clock += 1
        return self._clock

    # -- events -----------------------------------------------------------------------------------

    def supervisor(self, *events: ev.Event) -> None:
        for event in events:
            self._supervisor.append(event)

    def probe(self, *events: ev.Event) -> None:
        for event in events:
            self._probe.append(event)

    def fit(
        self, *, epochs: int = 3, steps: int | None = 100, data: ev.DatasetSeen | None = None, **more: Any
    ) -> None:
        self.probe(data or ev.DatasetSeen(type="tf.data", cardinality=steps, where="train.py:20"))
        self.probe(ev.FitStarted(epochs=epochs, planned_steps_per_epoch=steps, where="train.py:30", **more))

    def epochs(
        self, steps: list[int], losses: list[float] | None = None, *, fit: int = 1, **done: Any
    ) -> None:
        """The epochs of a fit, and its end."""
        for number, count in enumerate(steps):
            logs = {"loss": losses[number]} if losses else {"loss": 1.0 / (number + 1)}
            self.probe(ev.EpochDone(fit=fit, epoch=number, steps=count, logs=logs, duration_s=count * 0.1))
        self.probe(
            ev.FitDone(
                fit=fit,
                steps=sum(steps),
                epochs=len(steps),
                epochs_done=len(steps),
                steps_by_epoch=steps,
                **done,
            )
        )

    def ended(
        self, code: int | None = None, signal: str | None = None, *, oom: int | None = 0, **more: Any
    ) -> None:
        after = None if oom is None else oom
        self.supervisor(
            ev.AttemptEnded(
                exit_code=code,
                signal=signal,
                duration_s=60.0,
                oom_kills_before=None if oom is None else 0,
                oom_kills_after=after,
                **more,
            )
        )

    def raised(self, kind: str, message: str, **more: Any) -> None:
        """An exception that left the script, and exit code 1."""
        more = {"user_line": "train.py:41", "user_code": "model.fit(ds)", **more}
        self.probe(ev.ExceptionRaised(type=kind, message=message, left="script", caught=False, **more))
        self.ended(1)

    def stalled(
        self,
        phase: str,
        *threads: Thread,
        others: tuple[ProcessStacks, ...] = (),
        step: int = 40,
        **more: Any,
    ) -> None:
        """A stall, with three looks one second apart, and a stop by us. A thread's `cpu_s` is its share of a core."""
        looks = []
        for second in range(3):
            moved = [_ran(thread, second) for thread in threads]
            main = ProcessStacks(
                pid=4000, name="python", state="S", trains=True, source="py-spy", threads=moved
            )
            rest = [_process_ran(process, second) for process in others]
            looks.append(StackSnapshot(float(second), [main, *rest]))
        state = next((thread.state for thread in threads if thread.main), "S")
        if state == "T":
            looks = [
                StackSnapshot(
                    look.mono,
                    [ProcessStacks(pid=4000, name="python", state="T", trains=True, threads=list(threads))],
                )
                for look in looks
            ]
        stack_files.write(self.path / "stacks" / "stall-1.json", Capture(NOW, "stall", phase, step, looks))
        self.supervisor(
            ev.Stalled(
                phase=phase, step=step, silent_for_s=90.0, limit_s=60.0, stacks=["stall-1.json"], **more
            )
        )

    def stopped(self) -> None:
        self.ended(signal="SIGKILL", stopped_by_us="stall")

    # -- the other records -----------------------------------------------------------------------

    def samples(self, count: int, **fields: Any) -> None:
        """One sample a second. A field may be a function of the sample's number."""
        with (self.path / "vitals.jsonl").open("ab") as file:
            for number in range(count):
                values = {name: value(number) if callable(value) else value for name, value in fields.items()}
                values.setdefault("pid", 4000)
                values.setdefault("tree_rss_bytes", values.get("rss_bytes", 0))
                self._seconds = getattr(self, "_seconds", 0) + 1
                file.write(
                    vitals.encode(
                        vitals.Sample(at=NOW - 900 + self._seconds, mono=100.0 + self._seconds, **values)
                    )
                )

    def output(self, text: str) -> None:
        with (self.path / "output.log").open("a") as file:
            file.write(text)

    # -- what is found ----------------------------------------------------------------------------

    def verdict(self) -> Verdict:
        """Every sentence of it has its words and its values, whatever the test looks at."""
        found = explain(self.path, now=NOW, compare=False)
        assert wording.UNWORDED not in json.dumps(as_json(found))
        return found

    def first(self) -> Finding:
        return self.verdict().findings[0]

    def slugs(self) -> list[str]:
        """The causes of all findings, the verdict first."""
        return [one.cause for one in self.verdict().findings]

    def blamed(self) -> list[str]:
        """Those that are more than possible."""
        return [one.cause for one in self.verdict().findings if one.strength >= Strength.SUPPORTED]


def _ran(thread: Thread, seconds: int) -> Thread:
    from dataclasses import replace

    return replace(thread, cpu_s=thread.cpu_s * seconds)


def _process_ran(process: ProcessStacks, seconds: int) -> ProcessStacks:
    from dataclasses import replace

    return replace(process, threads=[_ran(thread, seconds) for thread in process.threads])


def at_hand(
    run: Run,
    path: str,
    *,
    missing: str = "the directory at the end of the archive is missing",
    function: str = "load",
    code: str = "z = np.load(path)",
    frames: tuple[str, ...] = (),
) -> None:
    """np.load, or the given frames of a library, failed on this file; by its format it ends too early."""
    inner = frames or ("numpy/lib/_npyio_impl.py:471 load", "zipfile.py:1369 _RealGetContents")
    run.raised(
        "BadZipFile", "File is not a zip file", user_line="train.py:9", user_code=code,
        frames=["train.py:73 <module>", "train.py:55 main", f"train.py:9 {function}", *inner],
    )  # fmt: skip
    run.probe(ev.AtHandSeen(files=[{"path": path, "bytes": 900, "missing": missing}]))


# -- threads ------------------------------------------------------------------------------------

KERAS = "/venv/lib/python3.11/site-packages/keras/src/backend/tensorflow/trainer.py"
TENSORFLOW = "/venv/lib/python3.11/site-packages/tensorflow/python/eager/execute.py"


def user(line: int = 12, function: str = "load", code: str = "", file: str = "/home/me/train.py") -> Frame:
    return Frame(file, line, function, code)


def main_in_fit(*inner: Frame, **more: Any) -> Thread:
    """The main thread inside `fit`, waiting in TensorFlow as it does for every stall on the side of tf.data."""
    frames = [*inner, Frame(TENSORFLOW, 53, "quick_execute"), Frame(KERAS, 399, "fit"), user(30, "<module>")]
    return Thread(
        **{"tid": 4000, "main": True, "state": "S", "wait": "futex_do_wait", "frames": frames, **more}
    )


def native(tid: int = 4001, **more: Any) -> Thread:
    return Thread(**{"tid": tid, "name": "tf_Compute", "state": "S", "wait": "futex_do_wait", **more})


def python_thread(tid: int, *frames: Frame, **more: Any) -> Thread:
    return Thread(
        **{
            "tid": tid,
            "name": "Thread-1",
            "state": "S",
            "wait": "futex_do_wait",
            "frames": list(frames),
            **more,
        }
    )


def pipeline(*nodes: dict[str, Any], **more: Any) -> ev.DatasetSeen:
    return ev.DatasetSeen(
        type="tf.data", nodes=list(nodes), where="train.py:20", **{"cardinality": 100, **more}
    )


def growing(mib: float, start: float = 600) -> Any:
    return lambda number: int((start + mib * number) * MIB)
