"""A download does not work or does not end."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, lost_process, matched, users_line
from holdfast.explain.words import clipped
from holdfast.journal.beats import Phase


@cause(
    "download-blocked",
    Group.ENVIRONMENT,
    specialises=(
        "script-error",
        "input-blocked",
    ),
)
def download_blocked(evidence: Evidence) -> Finding | None:
    said = matched(
        evidence,
        r"URL fetch failure|URLError|ConnectionError|Connection (refused|reset|timed out)|Temporary failure in "
        r"name resolution|Name or service not known|"
        r"Could(n't| not) resolve host|libcurl code|Max retries exceeded|Network is unreachable|gaierror|"
        r"ReadTimeout|ConnectTimeout|RemoteDisconnected|CERTIFICATE_VERIFY_FAILED|incomplete.*download",
    )
    in_callback = evidence.error is not None and bool(evidence.error.callback)
    if answered := None if in_callback else matched(evidence, _ANSWER):
        address = _address(evidence.error_text)
        whom = f"the server refused {address}" if address else "a server refused it"
        code, words = next((answered[0][n], answered[0][n + 1]) for n in (1, 3, 5) if answered[0][n])
        return _network_error(evidence, f"{whom}: {code} {words.strip()}", answered[1], _REFUSED)
    if broke_off := None if in_callback else matched(evidence, _BROKE_OFF):
        words = clipped(evidence.error.essence if evidence.error is not None else broke_off[1].fact, 120)
        return _network_error(evidence, f"a download broke off: {words}", broke_off[1], _REMEDIES)
    if said is not None and lost_process(evidence) is None:
        url = re.search(
            r"(https?://[^\s'\"]+|gs://[^\s'\"]+|s3://[^\s'\"]+)", evidence.error_text + said[1].fact
        )
        sure = evidence.error is not None and (url or _of_the_network(evidence))
        aside = evidence.error is None and evidence.stall is not None  # a word in the log, while it stands
        return _hanging(evidence) or Finding(
            "download-blocked",
            Strength.ESTABLISHED if sure else Strength.POSSIBLE if aside else Strength.SUPPORTED,
            f"{url[1].rstrip('.,:)') if url else 'an address'} could not be reached",
            (said[1], *users_line(evidence)),
            (),
            _REMEDIES,
        )
    return _hanging(evidence)


#: In the words of urllib, of requests, of Keras.
_ANSWER = (
    r"HTTP Error ([45]\d\d): ([\w -]+)|\b([45]\d\d) (?:Client|Server) Error: ([\w -]+?)(?: for url|$)|"
    r"URL fetch failure on \S+: ([45]\d\d) -- ([\w -]+)"
)
_BROKE_OFF = r"IncompleteRead|ContentTooShortError|retrieval incomplete|ChunkedEncodingError"


def _address(text: str) -> str:
    found = re.search(r"https?://[^\s'\"]+", text)
    return found[0].rstrip(".,:)") if found else ""


def _network_error(evidence: Evidence, title: str, fact: Fact, remedies: tuple[Remedy, ...]) -> Finding:
    strength = Strength.ESTABLISHED if evidence.error is not None else Strength.SUPPORTED
    return Finding("download-blocked", strength, title, (fact, *users_line(evidence)), (), remedies)


def _of_the_network(evidence: Evidence) -> bool:
    """The error came out of a library that speaks to other machines, or says what only they say."""
    error = evidence.error
    frames = " ".join(error.frames) if error is not None else ""
    return bool(
        re.search(
            r"urllib|http|requests|ssl\.py|httpx|aiohttp|gcsfs|s3fs|boto|huggingface|kaggle|ftplib", frames
        )
        or re.search(r"resolve|resolution|Name or service|Max retries|CERTIFICATE|URL", evidence.error_text)
    )


def _hanging(evidence: Evidence) -> Finding | None:
    standing = evidence.stacks
    if (
        evidence.stall is None
        or standing is None
        or evidence.step
        or evidence.phase not in (Phase.START, Phase.IMPORT, Phase.BUILD, None, Phase.FILL)
    ):
        return None
    for thread in standing.python_threads:
        network = thread.within(
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
        waits = re.search(r"recv|read|poll|connect|select|epoll", thread.syscall) or re.search(
            r"sk_wait|tcp|inet|poll|unix_stream|wait_woken|select|ep_poll|recv|connect", thread.wait
        )
        if network is None or thread.busy or not (waits or thread.main):
            continue
        fetching = thread.within("get_file", "download", "urlretrieve", "urlopen", "hf_hub", "/requests/")
        facts = (
            Fact(
                f"the {'main thread' if thread.main else 'thread'} waits for the network in {network.function} "
                f"({network.file}:{network.line})",
                standing.source,
            ),
            *([Fact(f"called from {thread.where}", standing.source)] if thread.users is not None else []),
            Fact("no training step was done", "beats"),
        )
        return Finding(
            "download-blocked",
            Strength.SUPPORTED if fetching is not None or thread.main else Strength.POSSIBLE,
            "it waits for the network before "
            f"training{f', from {thread.users.file}:{thread.users.line}' if thread.users is not None else ''}",
            facts,
            (),
            _REMEDIES,
        )
    return None


_REFUSED = (
    Remedy(
        "look at the address: whether the file is still there, and whether it wants a login", "your-choice"
    ),
    Remedy("fetch the file beforehand, and give its path", "your-choice"),
)
_REMEDIES = (
    Remedy(
        "fetch the file where there is a network, and give its path",
        "your-choice",
        'keras.applications.ResNet50(weights="resnet50.weights.h5")',
    ),
    Remedy("remove what an earlier download left half done in ~/.keras", "your-choice"),
)
