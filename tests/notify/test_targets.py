"""`--notify TARGET` and the configuration file, right and wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import UsageError
from holdfast.notify import targets, user_config
from holdfast.notify.notice import KINDS
from holdfast.notify.targets import NotifyTarget, of_text


def test_kinds_of_targets() -> None:
    kinds = {
        "https://example.org/hook": "webhook",
        "http://127.0.0.1:80": "webhook",
        "ntfy://topic": "apprise",
        "mailto://me:word@example.org": "apprise",
        "mail -s run me@example.org": "command",
        "curl -d @- https://example.org": "command",
        "./notify.sh": "command",
    }
    assert {text: of_text(text, where="").kind for text in kinds} == kinds


@pytest.mark.parametrize(
    "text", ["", " ", "https://", "https:/example.org", "http://[::1", "https://h:port/"]
)
def test_what_is_no_target(text: str) -> None:
    with pytest.raises(UsageError):
        of_text(text, where="--notify")


def test_a_target_is_shown_without_its_secret() -> None:
    shown = {
        "https://me:word@example.org:8443/secret?token=x": "https://example.org:8443",
        "slack://a/b/c": "slack://…",
        "post --token x": "the command 'post'",
    }
    assert {text: of_text(text, where="").shown for text in shown} == shown


def write(tmp_path: Path, text: str) -> dict[str, str]:
    file = tmp_path / "holdfast" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return {"XDG_CONFIG_HOME": str(tmp_path), "HOOK_WORD": "w"}


def test_the_configuration_file(tmp_path: Path) -> None:
    environment = write(
        tmp_path,
        """[notify]
targets = [
  "ntfy://topic",
  {target = "https://example.org", events = ["failure"], headers = {Authorization = "Bearer $HOOK_WORD"}},
]
events = ["failure", "end"]
host = true
""",
    )
    read = user_config.read_config(environment)
    assert read.shows_host
    assert read.targets == (
        NotifyTarget("apprise", "ntfy://topic", ("failure", "end")),
        NotifyTarget("webhook", "https://example.org", ("failure",), {"Authorization": "Bearer w"}),
    )
    assert [targets.from_json(one.as_json()) for one in read.targets] == list(read.targets)


def test_without_a_file_nobody_is_notified(tmp_path: Path) -> None:
    assert user_config.read_config({"HOME": str(tmp_path)}) == user_config.UserConfig()
    assert user_config.config_file({"HOME": "/home/x"}) == Path("/home/x/.config/holdfast/config.toml")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[notify", "not TOML"),
        ("a = " + "[" * 20_000, "not TOML"),
        ("#" * 2_000_000, "cannot be read"),
        ("[notfy]\n", "'notfy' is not a section"),
        ("notify = 3", "notify is a section"),
        ('[notify]\ntarget = "x"', "'target' is not a setting"),
        ('[notify]\ntargets = ["x"]\nevents = ["fail"]', "no event 'fail'"),
        ('[notify]\nhost = "yes"', "host is true or false"),
    ],
)
def test_mistakes_in_the_file(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(UsageError, match=what) as caught:
        user_config.read_config(write(tmp_path, text))
    assert caught.value.where.endswith("holdfast/config.toml")


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ("3", "a target is a string, or a table with `target`"),
        ('{target = "x", event = "end"}', "a target has no setting 'event'"),
        ('{target = "https://h", headers = {A = "$NO_SUCH"}}', "the environment has no variable NO_SUCH"),
    ],
)
def test_a_wrong_target_leaves_the_others(tmp_path: Path, wrong: str, what: str) -> None:
    read = user_config.read_config(write(tmp_path, f'[notify]\ntargets = ["post.sh", {wrong}]'))
    assert read.targets == (NotifyTarget("command", "post.sh", KINDS),)
    assert [mistake.what for mistake in read.mistakes] == [what]
    assert read.mistakes[0].where.endswith("holdfast/config.toml")


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    environment = write(tmp_path, "")
    path = user_config.config_file(environment)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UsageError, match="cannot be read"):
        user_config.read_config(environment)


def test_one_target_may_be_a_string(tmp_path: Path) -> None:
    read = user_config.read_config(write(tmp_path, '[notify]\ntargets = "post.sh"\n'))
    assert read.targets == (NotifyTarget("command", "post.sh", KINDS),)


def test_the_file_of_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "notifications.md").read_text()
    text = page.partition("```toml")[2].partition("\n")[2].partition("```")[0]
    environment = {**write(tmp_path, text), "HOOK_TOKEN": "w"}
    read = user_config.read_config(environment)
    assert [(one.kind, one.events, one.headers) for one in read.targets] == [
        ("apprise", KINDS, {}),
        ("webhook", ("stall", "failure"), {"Authorization": "Bearer w"}),
    ]
