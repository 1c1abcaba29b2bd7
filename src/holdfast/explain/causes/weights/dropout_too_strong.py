"""So much is dropped that hardly anything is left to learn from."""

from holdfast.explain.causes.weights.thresholds import (
    BETTER_WITHOUT,
    FAR_BETTER_WITHOUT,
    FEWEST_STEPS_WITH_DROPOUT,
    FLAT_LATE,
    IMPERCEPTIBLE,
    LEFT_BY_DROPOUT,
)
from holdfast.explain.readings.course import Course, course
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.weights import WEIGHTED, layers, looked_at, not_learned
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts
from holdfast.journal.events.event import Json

#: What may come behind the last layer with weights.
_BEHIND = ("Dropout", "Softmax", "Flatten", "Reshape")


@cause("dropout-too-strong", specialises=("loss-not-falling",))
def dropout_too_strong(evidence: Evidence) -> Finding | None:
    return _of_outputs(evidence) or _leaves_little(evidence) or _in_a_loop(evidence)


def _of_outputs(evidence: Evidence) -> Finding | None:
    """After the last layer with weights: the answers themselves are dropped."""
    chain, look, training = layers(evidence), looked_at(evidence), course(evidence)
    weighted = [place for place, one in enumerate(chain) if one.get("kind") in WEIGHTED]
    behind = chain[weighted[-1] + 1 :] if weighted else []
    dropped = [one for one in behind if number_of(one.get("rate")) and "ropout" in str(one.get("kind"))]
    if (
        not dropped
        or training is None
        or look is None
        or not look.event.loss
        or look.event.loss_inference is None
    ):
        return None
    trained, predicts = look.event.loss, look.event.loss_inference
    if (
        any(one.get("kind") not in (*_BEHIND, "Activation") for one in behind)
        or predicts > FAR_BETTER_WITHOUT * trained
    ):
        return None
    values = {
        "layer": dropped[0].get("name"),
        "rate": dropped[0].get("rate"),
        "where": dropped[0].get("where"),
    }
    return Finding(
        Strength.SUPPORTED,
        Title("dropout-too-strong.outputs", values),
        facts(
            look.fact("dropout.of-outputs", **values),
            look.fact("loss.without-dropout", loss=trained, predicts=predicts),
            training.fact,
            training.accuracy_fact,
        ),
        [Remedy("dropout.before-output")],
        ends=False,
    )


def _leaves_little(evidence: Evidence) -> Finding | None:
    training, dropped = not_learned(evidence), _most_dropped(layers(evidence))
    if training is None or not dropped:
        return None
    left = 1.0
    for one in dropped:
        left *= 1 - (number_of(one.get("rate")) or 0.0)
    if left > LEFT_BY_DROPOUT:
        return None
    look = looked_at(evidence)
    trained, predicts = (look.event.loss, look.event.loss_inference) if look is not None else (None, None)
    better = trained is not None and predicts is not None and predicts < BETTER_WITHOUT * trained
    seen = evidence.last(ev.LayersSeen) or look
    values = {"left": left, "layers": [one.get("name") for one in dropped], "rate": dropped[0].get("rate")}
    sure = training.learned is False or better
    return Finding(
        Strength.SUPPORTED if sure else Strength.POSSIBLE,
        Title("dropout-too-strong", values),
        facts(
            Fact("dropout.leaves", values, seen.source if seen is not None else ""),
            better
            and look is not None
            and look.fact("loss.without-dropout", loss=trained, predicts=predicts),
            training.fact,
            training.accuracy_fact,
        ),
        [Remedy("dropout.lower")],
        led_to="loss-not-falling",
        ends=False,
    )


def _in_a_loop(evidence: Evidence) -> Finding | None:
    """What a step of the loop has dropped, by its record. A high rate in a training that learns is a choice."""
    seen, training = evidence.first(ev.DropoutSeen), not_learned(evidence)
    if seen is None or training is None or training.steps < FEWEST_STEPS_WITH_DROPOUT:
        return None
    rate = max(seen.event.rates, default=0.0)
    if 1 - rate > LEFT_BY_DROPOUT:
        return None
    times = len([one for one in seen.event.rates if one == rate])
    values = {"left": 1 - rate, "rate": rate, "times": times, "where": seen.event.where}
    return Finding(
        Strength.supported_if(training.learned is False or _comes_to_nothing(training)),
        Title("dropout-too-strong.loop", values),
        facts(seen.fact("dropout.seen", **values), training.fact, training.accuracy_fact),
        [Remedy("dropout.lower")],
        led_to="loss-not-falling",
        ends=False,
    )


def _comes_to_nothing(training: Course) -> bool:
    """It has hardly fallen, and no longer falls; what a constant answer would cost is not known."""
    late = training.fell_late
    return training.fell < IMPERCEPTIBLE and late is not None and abs(late) < FLAT_LATE


def _most_dropped(chain: list[Json]) -> list[Json]:
    """The dropout layers in a row, with no weighted layer between them, that leave least."""
    found: list[list[Json]] = [[]]
    for one in chain:
        if number_of(one.get("rate")) and "ropout" in str(one.get("kind")):
            found[-1].append(one)
        elif one.get("kind") in WEIGHTED:
            found.append([])
    return max(found, key=lambda row: sum(number_of(one.get("rate")) or 0.0 for one in row))
