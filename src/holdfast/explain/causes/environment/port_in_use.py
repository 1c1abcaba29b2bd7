"""Another process listens at the port that this one was to use."""

import errno
import re

from holdfast.explain.readings.error import ErrorText, user_line
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

_IN_USE = ErrorText(
    r"[Aa]ddress already in use|EADDRINUSE|\[Errno 98\]|errno: 98\b|[Pp]ort \d+ is (?:already )?in use|"
    r"Failed to add port to server|No address added out of total"
)
_PORT = re.compile(
    r"\bport[:=]? ?(\d{2,5})\b|(?:\]|\blocalhost|\*|\b(?:\d{1,3}\.){3}\d{1,3}):(\d{2,5})\b", re.IGNORECASE
)
_OF_TORCH = re.compile(r"torch/distributed|TCPStore|socket has failed to (?:listen|bind)")


@cause("port-in-use", specialises=("script-error", "peer-missing", "native-crash"))
def port_in_use(evidence: Evidence) -> Finding | None:
    quote, error = _IN_USE.match(evidence), evidence.error
    if quote is None and not (error is not None and error.errno == errno.EADDRINUSE):
        return None
    text = f"{evidence.error_text}\n{quote.text if quote is not None else ''}"
    found = _PORT.search(text)
    port = int(next(group for group in found.groups() if group)) if found is not None else None
    torch = bool(_OF_TORCH.search("\n".join([text, *(error.frames if error is not None else ())])))
    values = {"port": port, "torch": torch}
    return Finding(
        Strength.established_if(error is not None),
        Title("port-in-use", values),
        quote.facts if quote is not None else user_line(evidence),
        [Remedy("port.end-the-other", values), Remedy("port.use-another", values)],
    )
