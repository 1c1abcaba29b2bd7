"""A download does not work or does not end."""

from __future__ import annotations

import re

from holdfast.explain.readings.end import before_first_step
from holdfast.explain.readings.error import ErrorText, Quote, lost_process, user_line
from holdfast.explain.readings.stacks import ThreadState, stalled_thread
from holdfast.explain.rule import Evidence, Finding, Phase, Remedy, Strength, Title, cause

_UNREACHABLE = ErrorText(
    r"URL fetch failure|URLError|ConnectionError|Connection (refused|reset|timed out)|Temporary failure in "
    r"name resolution|Name or service not known|"
    r"Could(n't| not) resolve host|libcurl code|Max retries exceeded|Network is unreachable|gaierror|"
    r"ReadTimeout|ConnectTimeout|RemoteDisconnected|CERTIFICATE_VERIFY_FAILED|incomplete.*download"
)
#: In the words of urllib, of requests, of Keras; each has the status and its reason.
_ANSWERED = ErrorText(
    r"HTTP Error ([45]\d\d): ([\w -]+)|\b([45]\d\d) (?:Client|Server) Error: ([\w -]+?)(?: for url|$)|"
    r"URL fetch failure on \S+: ([45]\d\d) -- ([\w -]+)"
)
_BROKE_OFF = ErrorText(r"IncompleteRead|ContentTooShortError|retrieval incomplete|ChunkedEncodingError")
_ADDRESS = re.compile(r"(?:https?|gs|s3)://[^\s'\"]+")
#: Frames, and words, of libraries that connect to other machines.
_LIBRARY = re.compile(r"urllib|http|requests|ssl\.py|httpx|aiohttp|gcsfs|s3fs|boto|huggingface|kaggle|ftplib")
_NETWORK_WORDS = re.compile(r"resolve|resolution|Name or service|Max retries|CERTIFICATE|URL")
#: Frames below which a thread waits for the network, and those among them that fetch a file.
_NETWORK_FRAMES = (
    "urllib",
    "http/client.py",
    "socket.py",
    "ssl.py",
    "requests/",
    "urllib3",
    "httpx",
    "get_file",
    "huggingface_hub",
    "gcsfs",
    "aiohttp",
    "kagglehub",
)
_FETCHES = ("get_file", "download", "urlretrieve", "urlopen", "hf_hub", "/requests/")
_NETWORK_CALLS = re.compile(r"recv|read|poll|connect|select|epoll")
_NETWORK_WAITS = re.compile(r"sk_wait|tcp|inet|poll|unix_stream|wait_woken|select|ep_poll|recv|connect")
_BEFORE_TRAINING = (Phase.START, Phase.IMPORT, Phase.BUILD, None, Phase.FILL)


@cause("download-blocked", specialises=("script-error", "input-blocked"))
def download_blocked(evidence: Evidence) -> Finding | None:
    error = evidence.error
    if error is None or not error.callback:
        if quote := _ANSWERED.match(evidence):
            return _refused(evidence, quote)
        if quote := _BROKE_OFF.match(evidence):
            return _broke_off(evidence, quote)
    quote = _UNREACHABLE.match(evidence)
    hanging = _hanging(evidence)
    if hanging is not None or quote is None or lost_process(evidence) is not None:
        return hanging
    address = _address(evidence.error_text + quote.text)
    if error is not None and (address or _of_the_network(evidence)):
        strength = Strength.ESTABLISHED
    else:  # a line in the log of a run that stalls may be about something else
        aside = error is None and evidence.stall is not None
        strength = Strength.POSSIBLE if aside else Strength.SUPPORTED
    return Finding(
        strength,
        Title("download-blocked", {"address": address}),
        because=[quote.fact, *user_line(evidence)],
        remedies=_REMEDIES,
    )


_REMEDIES = (Remedy("download.fetch-where-there-is-a-network"), Remedy("download.remove-half-files"))


def _refused(evidence: Evidence, quote: Quote) -> Finding:
    status, reason = (group for group in quote.match.groups() if group)
    address = _address(evidence.error_text)
    return Finding(
        Strength.ESTABLISHED if evidence.error is not None else Strength.SUPPORTED,
        Title(
            "download-blocked.refused", {"address": address, "status": int(status), "reason": reason.strip()}
        ),
        because=[quote.fact, *user_line(evidence)],
        remedies=[Remedy("download.check-address"), Remedy("download.fetch-beforehand")],
    )


def _broke_off(evidence: Evidence, quote: Quote) -> Finding:
    error = evidence.error
    return Finding(
        Strength.ESTABLISHED if error is not None else Strength.SUPPORTED,
        Title("download-blocked.broke-off", {"error": error.essence if error is not None else quote.text}),
        because=[quote.fact, *user_line(evidence)],
        remedies=_REMEDIES,
    )


def _address(text: str) -> str:
    found = _ADDRESS.search(text)
    return found[0].rstrip(".,:)") if found else ""


def _of_the_network(evidence: Evidence) -> bool:
    """The error came out of a library that connects to other machines, or has words that only they have."""
    frames = " ".join(evidence.error.frames) if evidence.error is not None else ""
    return bool(_LIBRARY.search(frames) or _NETWORK_WORDS.search(evidence.error_text))


def _hanging(evidence: Evidence) -> Finding | None:
    waiting = stalled_thread(evidence, _waits_for_network)
    if waiting is None or evidence.step or evidence.phase not in _BEFORE_TRAINING or not waiting.trains:
        return None
    thread = waiting.thread
    inside = thread.within(*_NETWORK_FRAMES)
    certain = thread.within(*_FETCHES) is not None or thread.main
    return Finding(
        Strength.SUPPORTED if certain else Strength.POSSIBLE,
        Title("download-blocked.waits", {"where": thread.where if thread.users is not None else ""}),
        because=[
            waiting.fact_inside(inside) if inside is not None else waiting.fact,
            *before_first_step(evidence),
        ],
        remedies=_REMEDIES,
    )


def _waits_for_network(thread: ThreadState) -> bool:
    waits = _NETWORK_CALLS.search(thread.syscall) or _NETWORK_WAITS.search(thread.wait)
    return bool(thread.within(*_NETWORK_FRAMES)) and not thread.busy and (bool(waits) or thread.main)
