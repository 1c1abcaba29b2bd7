"""`--notify` on real runs: the run ends the same whatever becomes of the message."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.notify.receiver import receiving
from tests.supervise.running import HOLDFAST, WAIT, child_pid
from tests.waiting import PATIENCE_S, until

FAILS = "import sys; sys.exit(3)"


def run(tmp_path: Path, *words: str, code: str = FAILS) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *HOLDFAST,
            *("--run-dir", "r")[: 2 * (not (tmp_path / "r").exists())],
            *words,
            "--",
            sys.executable,
            "-c",
            code,
        ],
        cwd=tmp_path,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def test_a_webhook_and_a_command_get_one_last_message(tmp_path: Path) -> None:
    with receiving() as hook:
        done = run(
            tmp_path, "--notify", hook.address, "--notify", "echo $HOLDFAST_EVENT $HOLDFAST_RUN_DIR >> got"
        )
    assert done.returncode == 3
    assert [(body["event"], body["outcome"], body["run"], body["run_dir"]) for body in hook.bodies] == [
        ("failure", "failed", "r", "r")
    ]
    assert hook.bodies[0]["verdict"].startswith("verdict[")
    assert hook.bodies[0]["host"] == ""
    assert (tmp_path / "got").read_text() == "failure r\n"
    assert "notification" not in done.stderr


def test_a_good_end_is_one_message_too(tmp_path: Path) -> None:
    with receiving() as hook:
        done = run(tmp_path, "--notify", hook.address, code="print(1)")
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert [(body["event"], body["outcome"]) for body in hook.bodies] == [("end", "finished")]


def test_targets_that_fail_change_nothing_and_say_so_once(tmp_path: Path) -> None:
    with receiving(answers=[401]) as hook:
        done = run(tmp_path, "--notify", hook.address, "--notify", "no_such_program_here")
    assert done.returncode == 3
    lines = [line for line in done.stderr.splitlines() if "no notification" in line]
    assert sorted(line.split(": ")[1] for line in lines) == [
        f"no notification to http://127.0.0.1:{hook.port}",
        "no notification to the command 'no_such_program_here'",
    ]
    assert "/hook" not in "".join(lines), "an address often is the password"
    rows = [json.loads(line) for line in (tmp_path / "r" / "notifications.jsonl").read_text().splitlines()]
    assert [row["arrived"] for row in rows] == [False, False]


def test_a_restart_and_the_end_are_two_messages(tmp_path: Path) -> None:
    code = "import os, pathlib as p; n = p.Path('n'); n.exists() or (n.touch(), os.kill(os.getpid(), 9))"
    with receiving() as hook:
        done = run(tmp_path, "--restarts", "1", "--notify", hook.address, code=code)
    assert done.returncode == 0, done.stderr
    assert [body["event"] for body in hook.bodies] == ["restart", "end"]
    first = hook.bodies[0]
    why, verdict = first["verdict"].splitlines()[:2]
    assert (why[:15], verdict[:28], first["outcome"]) == (
        "restarted after",
        "verdict[killed-from-outside]",
        "killed",
    )


def test_a_stall_is_a_message_while_the_run_still_hangs(tmp_path: Path) -> None:
    code = f"import time; print('begins'); {WAIT}"
    words = ["--stall-after", "4", "--notify"]
    with receiving() as hook:
        program = subprocess.Popen(
            [*HOLDFAST, "--run-dir", "r", *words, hook.address, "--", sys.executable, "-c", code],
            cwd=tmp_path,
            stderr=subprocess.DEVNULL,
        )
        until(lambda: hook.bodies, "the message about the stall")
        program.send_signal(signal.SIGTERM)
        program.wait(PATIENCE_S)
    assert [body["event"] for body in hook.bodies] == ["stall", "failure"]
    assert hook.bodies[0]["outcome"] == "stalled"


def test_the_message_comes_even_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    with receiving() as hook:
        program = subprocess.Popen(
            [
                *HOLDFAST,
                "--run-dir",
                "r",
                "--notify",
                hook.address,
                "--",
                sys.executable,
                "-c",
                f"import time; {WAIT}",
            ],
            cwd=tmp_path,
            stderr=subprocess.DEVNULL,
        )
        until(lambda: "attempt_started" in (tmp_path / "r" / "journal.jsonl").read_text()
              if (tmp_path / "r" / "journal.jsonl").exists() else False, "the start")  # fmt: skip
        child = child_pid(tmp_path / "r")
        program.kill()
        program.wait(PATIENCE_S)
        until(lambda: hook.bodies, "the last message")
    os.kill(child, signal.SIGKILL)
    (body,) = hook.bodies
    assert body["event"] == "failure"
    assert body["verdict"].startswith("the supervisor of this run is gone")


def test_the_configuration_file_and_off(tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    with receiving() as hook:
        config.write_text(f'[notify]\ntargets = ["{hook.address}"]\nevents = ["end"]\nhost = true\n')
        run(tmp_path, code="pass")
        assert [body["event"] for body in hook.bodies] == ["end"]
        assert hook.bodies[0]["host"] == os.uname().nodename
        run(tmp_path, "--notify", "off", code="pass")
        assert len(hook.bodies) == 1
        config.write_text('[notify]\ntarget = "x"\n')
        done = run(tmp_path, code="pass")
    assert done.returncode == 0
    assert (
        "not used, so nobody in it is notified: 'target' is not a setting of [notify]; write targets"
        in done.stderr
    )
    assert "not used" not in run(tmp_path, "--notify", "off", code="pass").stderr


def test_a_wrong_target_of_the_configuration_file_costs_itself_only(tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    wrong = '{target = "https://h", headers = {A = "$NO_SUCH_WORD"}}'
    with receiving() as hook:
        config.write_text(f'[notify]\ntargets = ["{hook.address}", {wrong}]\n')
        done = run(tmp_path, code="pass")
    assert done.returncode == 0
    assert [body["event"] for body in hook.bodies] == ["end"]
    assert "config.toml is not used: the environment has no variable NO_SUCH_WORD; export" in done.stderr


@pytest.mark.parametrize(("target", "what"), [("https://", "no complete address"), (" ", "is empty")])
def test_a_mistake_in_the_option_is_an_error_before_the_run(tmp_path: Path, target: str, what: str) -> None:
    done = run(tmp_path, "--notify", target)
    assert done.returncode == 2
    assert what in done.stderr
    assert not (tmp_path / "r").exists()


def test_notify_test(tmp_path: Path) -> None:
    def tried(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "holdfast", "notify", *words],
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    with receiving() as hook:
        done = tried("--test", hook.address)
        assert (done.returncode, done.stdout) == (0, f"holdfast: http://127.0.0.1:{hook.port}: sent\n")
        assert [body["event"] for body in hook.bodies] == ["test"]
        hook.answers.append(500)
        done = tried("--test", hook.address)
        assert done.returncode == 1 and "did not arrive: it answered 500" in done.stdout
    done = tried("--test")
    assert done.returncode == 2 and "there is no target to test" in done.stderr

    config = tmp_path / "holdfast" / "config.toml"
    config.parent.mkdir()
    config.write_text('[notify]\ntargets = ["cat", {target = "cat", event = "end"}]\n')
    done = tried("--test")
    assert (done.returncode, done.stdout) == (1, "holdfast: the command 'cat': sent\n")
    assert "a target has no setting 'event'; write events" in done.stderr
    config.write_text("[notfy]\n")
    done = tried("--test")
    assert done.returncode == 2 and "error[usage]: 'notfy' is not a section" in done.stderr
    assert "no target to test" not in done.stderr
