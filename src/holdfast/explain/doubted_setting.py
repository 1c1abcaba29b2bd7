"""A setting of a recipe that the trainer doubted at the start, where the run then found nothing: for several causes."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Finding, Remedy, Strength, Title, facts
from holdfast.explain.readings.course import course
from holdfast.explain.validations import learned_nothing, same_answers
from holdfast.journal import events as ev


def by_setting(evidence: Evidence, kind: str, *rules: str) -> Finding | None:
    """`kind` is that of the title. A detector that finds objects in spite of it is left alone."""
    doubted = [one for one in evidence.all(ev.SettingDoubted) if one.event.rule in rules]
    nothing = learned_nothing(evidence)
    if not doubted or nothing is None:
        return None
    first, training = doubted[0], course(evidence)
    values = ev.payload(first.event)
    return Finding(
        Strength.SUPPORTED,
        Title(kind, values),
        facts(
            [one.fact("setting.doubted", **ev.payload(one.event)) for one in doubted],
            nothing,
            same_answers(evidence),
            training is not None and training.fact,
        ),
        [Remedy("setting.change", ev.payload(one.event)) for one in doubted],
        led_to="loss-not-falling",
        ends=False,
    )
