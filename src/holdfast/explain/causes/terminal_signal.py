"""The terminal ended it: Ctrl-C, or the window was closed."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.grounds import users_line
from holdfast.journal import events as ev


def terminal_signal(evidence: Evidence) -> Finding | None:
    told = [said for said in evidence.all(ev.SignalReceived) if said.event.signal in ("SIGINT", "SIGHUP")]
    interrupted = evidence.error is not None and evidence.error.type == "KeyboardInterrupt"
    by_signal = evidence.exit_signal if evidence.exit_signal in ("SIGINT", "SIGHUP") else None
    if evidence.alive or not (told or interrupted or by_signal or evidence.stopped_by_us == "interrupt"):
        return None
    name = by_signal or (told[-1].event.signal if told else "SIGINT")
    facts = [
        Fact(f"the supervisor was sent {said.event.signal} and passed it on", said.source)
        for said in told[-1:]
    ]
    if by_signal:
        facts.append(Fact(f"the process ended on {by_signal}", evidence.exit_source))
    if interrupted and evidence.error is not None:
        facts.append(Fact("the script was left by KeyboardInterrupt", evidence.error.source))
        facts += users_line(evidence)
    hup = name == "SIGHUP"
    return Finding(
        "terminal-signal",
        Strength.POSSIBLE if evidence.stands else Strength.ESTABLISHED,
        "the terminal was closed while it ran (SIGHUP)"
        if hup
        else "it was interrupted from the terminal (SIGINT, Ctrl-C)",
        tuple(facts),
        (),
        (
            Remedy(
                "start it where no terminal can end it: in tmux, or with `setsid holdfast run -- …`",
                "your-choice",
            ),
            Remedy(
                "a Ctrl-C meant for `tail -f` reaches every program of that terminal: use another one for looking",
                "guess",
            ),
        ),
        ends=not evidence.stands,
    )


PAGE = """\
What it is
  Ctrl-C sends SIGINT to every program of a terminal, closing the window or
  losing the connection sends SIGHUP. `nohup` holds off SIGHUP but not
  SIGINT.

How Holdfast knows
  The process ended on SIGINT or SIGHUP, or the script was left by
  KeyboardInterrupt, or the supervisor received the signal.

How to make it happen
  Start a training with `nohup python train.py & tail -f nohup.out` and
  press Ctrl-C.

How to cure it
  Start long runs in tmux, or in a session of their own.
      setsid holdfast run -- python train.py > /dev/null 2>&1 &

When Holdfast would be wrong
  If a program raises KeyboardInterrupt by itself.
"""
