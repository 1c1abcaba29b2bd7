"""A download does not work or does not end."""

import re

from holdfast.explain.readings.end import before_first_step
from holdfast.explain.readings.error import ErrorText, lost_process
from holdfast.explain.readings.stacks import ThreadState, stalled_thread
from holdfast.explain.rule import Evidence, Finding, Phase, Remedy, Strength, Title, cause

_UNREACHABLE = ErrorText(
    r"URL fetch failure|URLError|ConnectionError|Connection (refused|reset|timed out)|"
    r"Temporary failure in name resolution|Name or service not known|Could(n't| not) resolve host|"
    r"libcurl code|Max retries exceeded|Network is unreachable|gaierror|ReadTimeout|ConnectTimeout|"
    r"RemoteDisconnected|CERTIFICATE_VERIFY_FAILED|incomplete.*download|"
    r"couldn't connect to 'https?://|LocalEntryNotFoundError|OfflineModeIsEnabled"
)
#: In the words of urllib, of requests, of Keras; each has the status and its reason.
_ANSWERED = ErrorText(
    r"HTTP Error ([45]\d\d): ([\w -]+)|\b([45]\d\d) (?:Client|Server) Error[.:] (?:\(Request ID: [^)]*\) *)?"
    r"([\w -]+?)(?: for url|[.$])|"
    r"URL fetch failure on \S+: ([45]\d\d) -- ([\w -]+)"
)
#: The connections of processes that train together.
_COLLECTIVE = re.compile(r"Gloo|NCCL|all-?(reduce|gather)", re.IGNORECASE)
_BROKE_OFF = ErrorText(r"IncompleteRead|ContentTooShortError|retrieval incomplete|ChunkedEncodingError")
_ADDRESS = re.compile(r"(?:https?|gs|s3)://[^\s'\"]+")
#: Frames, and words, of libraries that connect to other machines.
_LIBRARY = re.compile(r"urllib|http|requests|ssl\.py|httpx|aiohttp|gcsfs|s3fs|boto|huggingface|kaggle|ftplib")
_NETWORK_WORDS = re.compile(r"resolve|resolution|Name or service|Max retries|CERTIFICATE|URL")
#: Frames below which a thread waits for the network, and those that fetch a file.
_PROTOCOLS = ("urllib", "http/client.py", "socket.py", "ssl.py", "requests/", "httpx", "aiohttp")
_DOWNLOADERS = ("get_file", "huggingface_hub", "gcsfs", "kagglehub")
_FETCHES = ("get_file", "download", "urlretrieve", "urlopen", "hf_hub", "/requests/")
_NETWORK_CALLS = re.compile(r"recv|read|poll|connect|select|epoll")
_NETWORK_WAITS = re.compile(r"sk_wait|tcp|inet|poll|unix_stream|wait_woken|select|ep_poll|recv|connect")
_BEFORE_TRAINING = (Phase.START, Phase.IMPORT, Phase.BUILD, None, Phase.FILL)
_REMEDIES = (Remedy("download.fetch-where-there-is-a-network"), Remedy("download.remove-half-files"))


@cause("download-blocked", specialises=("script-error", "input-blocked"))
def download_blocked(evidence: Evidence) -> Finding | None:
    return _failed(evidence) or _hanging(evidence) or _unreachable(evidence)


def _failed(evidence: Evidence) -> Finding | None:
    """The server answered with an error, or the transfer broke off."""
    error = evidence.error
    if error is not None and error.callback:
        return None
    strength = Strength.established_if(error is not None)
    if quote := _ANSWERED.match(evidence):
        status, reason = (group for group in quote.match.groups() if group)
        values = {"address": _address(evidence.error_text), "status": int(status), "reason": reason.strip()}
        remedies = [Remedy("download.check-address"), Remedy("download.fetch-beforehand")]
        return Finding(strength, Title("download-blocked.refused", values), quote.facts, remedies)
    if quote := _BROKE_OFF.match(evidence):
        text = error.essence if error is not None else quote.text
        return Finding(strength, Title("download-blocked.broke-off", {"error": text}), quote.facts, _REMEDIES)
    return None


def _unreachable(evidence: Evidence) -> Finding | None:
    quote, error = _UNREACHABLE.match(evidence), evidence.error
    if quote is None or lost_process(evidence) is not None or _COLLECTIVE.search(quote.text):
        return None
    address = _address(evidence.error_text + quote.text)
    if error is not None and (address or _of_the_network(evidence)):
        strength = Strength.ESTABLISHED
    else:  # a line in the log of a run that stalls may be about something else
        aside = error is None and evidence.stall is not None
        strength = Strength.POSSIBLE if aside else Strength.SUPPORTED
    return Finding(strength, Title("download-blocked", {"address": address}), quote.facts, _REMEDIES)


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
    inside, fetches = thread.within(*_PROTOCOLS, *_DOWNLOADERS), thread.within(*_FETCHES) is not None
    strength = Strength.supported_if(fetches or thread.main)
    title = Title("download-blocked.waits", {"where": thread.users_line})
    seen = waiting.fact_inside(inside) if inside is not None else waiting.fact
    return Finding(strength, title, [seen, *before_first_step(evidence)], _REMEDIES)


def _waits_for_network(thread: ThreadState) -> bool:
    waits = _NETWORK_CALLS.search(thread.syscall) or _NETWORK_WAITS.search(thread.wait) or thread.main
    return bool(waits) and not thread.busy and thread.within(*_PROTOCOLS, *_DOWNLOADERS) is not None
