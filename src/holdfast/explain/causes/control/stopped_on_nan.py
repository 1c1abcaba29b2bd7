"""TerminateOnNaN, or a check of the script's own, ended the training because the loss was not a number."""

import re

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.readings.fits import stop_request
from holdfast.explain.readings.numerics import became_non_finite, non_finite, stopped_itself
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts

#: In the words of Keras, of the Estimator and the Object Detection API, of Lightning and of Detectron2.
_RAISED = ErrorText(
    r"Invalid loss|NaN or Inf found in loss|NaN loss during training|Model diverged with loss = NaN|"
    r"Nan in summary histogram|Loss became infinite or NaN|loss returned in `training_step` is (nan|inf)|"
    r"\bloss (is|was|became) (nan|inf|not finite)\b",
    re.IGNORECASE,
)


@cause("stopped-on-nan", specialises=("script-error", "stopped-by-callback"), mechanism=True)
def stopped_on_nan(evidence: Evidence) -> Finding | None:
    asked = stop_request(evidence, lambda by, settings: "TerminateOnNaN" in by)
    printed = evidence.output.last(r"Batch \d+: Invalid loss, terminating training")
    if asked is None and len(evidence.fits) > 1:
        printed = None  # of an earlier fit, such as a trial of a search
    raised = _RAISED.match(evidence) if evidence.error is not None else None
    stopped = facts(
        asked and asked.fact("stop.set-at-step", by=asked.event.by, step=asked.event.step),
        printed and Fact("error.quoted", {"text": printed.text}, printed.source),
        raised.fact if raised is not None else stopped_itself(evidence),
    )
    if not stopped:
        return None
    seen = facts(stopped, became_non_finite(non_finite(evidence)))
    cure = Remedy("nan.cure-the-loss")
    if asked is None and printed is None:
        return Finding(Strength.ESTABLISHED, Title("stopped-on-nan.raised"), seen, [cure])
    keras2 = any(framework.event.name == "tf_keras" for framework in evidence.all(ev.FrameworkSeen))
    raise_instead = Remedy("nan.raise-keras-2" if keras2 else "nan.raise-an-error")
    return Finding(Strength.ESTABLISHED, Title("stopped-on-nan"), seen, [cure, raise_instead])
