"""A dataset yields nothing: not one training step, or no validation batch."""

import re

from holdfast.explain.empty_validation import empty_validation
from holdfast.explain.readings.error import ErrorText, user_line
from holdfast.explain.readings.fits import Fit
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts

_EMPTY = ErrorText(
    r"(ran out of data|UnboundLocalError.*logs|No data|dataset.*(is )?empty|0 (training )?images)"
)
#: What a loader raises that was given nothing.
_REFUSED = ErrorText(
    r"num_samples should be a positive integer.*num_samples=0|dataset is empty|empty dataset|"
    r"Found array with 0 sample|the (?:py)?dataset has length 0|the Sequence has length 0|No images found in directory|"
    r"Found no valid file for the classes|resulting train set will be empty",
    re.IGNORECASE,
)
#: Keras 2 raises where its first epoch had no step; Keras 3 continues.
_RAISED = ErrorText(
    r"Expect x to be a non-empty array or dataset|Unexpected result of `train_function` \(Empty [Ll]ogs\)"
)
_CHECK_PATH = Remedy("data.check-path", safety="automatic")
_REFUSE = (Remedy("data.refuse-empty"), _CHECK_PATH)


@cause("dataset-empty", specialises=("script-error", "dataset-exhausted"))
def dataset_empty(evidence: Evidence) -> Finding | None:
    fits, passed = _fits_without_steps(evidence), evidence.last(ev.EmptyPassSeen)
    counted_empty = evidence.dataset().cardinality == 0
    ended_empty = (counted_empty or passed is not None) and not evidence.alive
    if evidence.step or not (fits or ended_empty):
        return _refused(evidence) or _validation_empty(evidence)
    warned = [one for one in evidence.all(ev.WarningSeen) if "ran out of data" in one.event.text]
    quote = _EMPTY.match(evidence) or _RAISED.match(evidence)
    ends = [(fit, fit.done) for fit in fits[-1:] if fit.done is not None]
    return Finding(
        Strength.established_if(fits or counted_empty),
        Title("dataset-empty", {"where": evidence.dataset().where}),
        facts(
            passed and passed.fact("loop.got-no-data", where=passed.event.where, passes=passed.event.passes),
            [end.fact("fit.without-steps", fit=fit.number, epochs=end.event.epochs) for fit, end in ends],
            _known_of(evidence, "train"),
            [one.fact("keras.warned", text=one.event.text) for one in warned[:1]],
            quote and quote.fact,
        ),
        _REFUSE,
    )


def _refused(evidence: Evidence) -> Finding | None:
    quote, error = _REFUSED.match(evidence), evidence.error
    if quote is None or error is None or evidence.step:
        return None
    title = Title("dataset-empty", {"where": error.user_line})
    return Finding(Strength.SUPPORTED, title, facts(quote.fact, user_line(evidence)), _REFUSE)


def _fits_without_steps(evidence: Evidence) -> list[Fit]:
    """Fits that ended by themselves after no step, though epochs were planned."""
    if any(one.event.by.startswith("SIG") for one in evidence.all(ev.StopRequested)):
        return []  # our trainer ends its fit in order when a signal asks it to, before the first step too
    refused = _RAISED.match(evidence) is not None
    ended = [fit for fit in evidence.fits if fit.finished or (refused and fit.done is not None)]
    return [fit for fit in ended if fit.steps == 0 and not fit.lost_count and fit.planned_epochs != 0]


def _known_of(evidence: Evidence, role: str) -> list[Fact]:
    data = evidence.data(role)
    return facts(
        data and data.event.cardinality == 0 and data.fact("data.no-elements", role=data.event.role),
        data and data.event.file_count == 0 and data.fact("data.no-file-matched"),
    )


def _validation_empty(evidence: Evidence) -> Finding | None:
    """Training was done, and every validation of it saw nothing."""
    found = empty_validation(evidence)
    if found is None or found.less_than_a_batch:
        return None
    return Finding(
        found.strength,
        Title("dataset-empty.validation", {"where": found.where}),
        facts(found.seen, _known_of(evidence, "validation")),
        (Remedy("data.check-the-split"), _CHECK_PATH),
        led_to=found.led_to,
        ends=found.ends,
    )
