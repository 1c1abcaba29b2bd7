"""Arguments that make no sense are refused before anything is read or started, each in the same four parts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module

import pytest

from holdfast.cli import main as cli
from holdfast.cli.arguments import Kind, Parser, parse_memory_size
from holdfast.errors import ExitCode, OutOfRange, UsageError
from holdfast.launch import cluster
from holdfast.launch.jobs import job_spec

NONSENSE = [
    ("launch r.toml --processes 0", "--processes must be an integer from 1 to 4096", "--processes 2"),
    ("launch r.toml --hosts 0", "--hosts must be an integer from 1 to 4096", "--hosts 2"),
    ("launch r.toml --host -1", "--host must be an integer of at least 0", "--host 0"),
    ("launch r.toml --restarts -1", "--restarts must be an integer of at least 0", "--restarts 3"),
    (
        "launch r.toml --join-timeout 0",
        "--join-timeout must be a number of seconds above 0",
        "--join-timeout 600",
    ),
    ("train r.toml --restarts -1", "--restarts must be an integer of at least 0", "--restarts 3"),
    ("run --stall-after 0 -- true", "--stall-after must be a number of seconds above 0", "--stall-after 60"),
    (
        "run --stall-after nan -- true",
        "--stall-after must be a number of seconds above 0",
        "--stall-after 60",
    ),
    ("run --restarts x -- true", "--restarts must be an integer of at least 0", "--restarts 3"),
    ("top --limit 0", "--limit must be an integer of at least 1", "--limit 20"),
    ("top --limit 2.5", "--limit must be an integer of at least 1", "--limit 20"),
    ("check x --processes 0", "--processes must be 1 to 4096, auto, or ray://HOST:PORT", "--processes 4"),
    (
        "check x --step-speed -3",
        "--step-speed must be a number of images per second above 0",
        "--step-speed 120",
    ),
    ("board --port 99999", "--port must be an integer from 0 to 65535", "--port 8080"),
    ("data convert a b --to coco --shards 0", "--shards must be an integer from 1 to 99999", "--shards 8"),
    ("data inspect a --images -1", "--images must be an integer of at least 0", "--images 48"),
    ("data pack a --size 0", "--size must be an integer from 64 to 4096", "--size 320"),
    ("demo --steps 0", "--steps must be an integer of at least 1", "--steps 150"),
    ("lr-find r.toml --steps 3", "--steps must be an integer of at least 10", "--steps 100"),
    ("eval a b --score 7", "--score must be a number from 0 to 1", "--score 0.5"),
    ("predict a b --score nan", "--score must be a number from 0 to 1", "--score 0.5"),
    ("predict a b --batch 0", "--batch must be an integer of at least 1", "--batch 8"),
    ("anchors a --input 5", "--input must be an integer from 64 to 4096", "--input 320"),
    ("anchors a --seed -4", "--seed must be an integer from 0 to 2147483647", "--seed 0"),
]


@pytest.mark.parametrize(("line", "what", "change"), NONSENSE, ids=[row[0] for row in NONSENSE])
def test_numbers_that_make_no_sense(
    line: str, what: str, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words, option = line.split(), what.split()[0]
    assert cli.main(words) == ExitCode.COULD_NOT
    said = capsys.readouterr().err.splitlines()
    assert said[0].partition(": ")[2] == what
    assert said[1:] == [
        "  where   the command line",
        f"  found   {option} {words[words.index(option) + 1]}",
        f"  change  {change}, or leave it out",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["run", "--name", "", "--", "true"],
            "--name is empty\n  where   the command line\n  found   --name ''\n"
            "  change  give --name NAME a value, or leave --name out",
        ),
        (
            ["explain", " "],
            "RUN is empty\n  where   the command line\n  found   ''\n  change  give RUN a value",
        ),
        (
            ["run", "--name", "../x", "--", "true"],
            "the name of a run cannot contain a slash\n  where   the command line\n  found   --name ../x\n"
            "  change  --run-dir ../x for another folder",
        ),
        (
            ["run", "--on-stall", "stpo", "--", "true"],
            "--on-stall: unknown value 'stpo'\n  where   the command line\n"
            "  found   the values are report, stop, restart\n  change  --on-stall stop",
        ),
        (
            ["explain"],
            "holdfast explain needs RUN\n  where   the command line\n  change  holdfast explain RUN\n"
            "          holdfast explain --help lists its arguments",
        ),
        (
            ["compare"],
            "holdfast compare needs OLD and NEW\n  where   the command line\n  change  holdfast compare OLD NEW\n"
            "          holdfast compare --help lists its arguments",
        ),
        (
            ["predict", "m"],
            "holdfast predict needs IMAGES\n  where   the command line\n  change  holdfast predict MODEL IMAGES\n"
            "          holdfast predict --help lists its arguments",
        ),
        (
            ["plan", "r.toml", "--device-memory", "-5GiB"],
            "--device-memory needs a value\n  where   the command line\n  found   --device-memory -5GiB\n"
            "  change  --device-memory SIZE\n          holdfast plan --help lists its arguments",
        ),
        (
            ["export", "m"],
            "holdfast export needs --to and --out\n  where   the command line\n"
            "  change  holdfast export MODEL --to saved_model|onnx|tflite --out PATH\n"
            "          holdfast export --help lists its arguments",
        ),
        (
            ["top", "--once=3"],
            "--once takes no value\n  where   the command line\n  found   --once=3\n  change  --once",
        ),
        (
            ["predict", "m", "x", "--out"],
            "--out needs a value\n  where   the command line\n  change  --out FOLDER\n"
            "          holdfast predict --help lists its arguments",
        ),
    ],
)
def test_what_argparse_would_say_in_words_of_its_own(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == ExitCode.COULD_NOT
    assert capsys.readouterr().err.rstrip("\n").partition(": ")[2] == said


def test_numbers_inside_a_word() -> None:
    with pytest.raises(UsageError) as refused:
        cluster.from_arguments(0, 2, "here:port")
    assert (refused.value.found, refused.value.change) == (
        ("--coordinator here:port",),
        ("--coordinator here:29470",),
    )
    with pytest.raises(UsageError, match="at least 1 after the colon"):
        job_spec.accelerator_of("NVIDIA_L4:0")


@pytest.mark.parametrize(
    ("command", "line", "name", "value"),
    [
        ("launch", "r.toml --conductor first:29470", "coordinator", "first:29470"),
        ("launch", "r.toml --join-limit 30", "join_timeout", 30.0),
        ("plan", "r.toml --card t4", "gpu", "t4"),
        ("top", "--most 3", "limit", 3),
        ("export", "m --to tflite --out x --pictures a b", "images", ["a", "b"]),
        ("data", "inspect a --pictures 7", "images", 7),
    ],
)
def test_older_names_of_options_still_work(command: str, line: str, name: str, value: object) -> None:
    parser = Parser(prog=command)
    import_module(cli._find(command).module).add_arguments(parser)
    assert getattr(parser.parse_args(line.split()), name) == value
    old = next(word for word in line.split() if word.startswith("--") and word not in ("--to", "--out"))
    assert old not in parser.format_help()


def test_an_empty_word_of_the_command_is_the_commands_own() -> None:
    parser = Parser(prog="holdfast run")
    import_module("holdfast.cli.commands.run_command").add_arguments(parser)
    assert parser.parse_args(["--", "echo", ""]).command[-2:] == ["echo", ""]


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from actions(child)
        else:
            yield action


@pytest.mark.parametrize("command", cli.COMMANDS, ids=lambda command: command.name)
def test_no_number_of_any_command_goes_unjudged(command: cli.Command) -> None:
    parser = Parser(prog=command.name)
    import_module(command.module).add_arguments(parser)
    for action in actions(parser):
        assert action.type not in (int, float), action.option_strings
        if isinstance(action.type, Kind):
            assert action.type.fits(action.type(action.type.such_as)), action.option_strings
            no_default = action.default in (None, argparse.SUPPRESS)
            assert no_default or action.type.fits(action.default), action.option_strings


@pytest.mark.parametrize("text", ["sixteen", "16 parsecs", "-4GiB", "0GiB", ""])
def test_a_memory_size_that_is_none_is_refused_with_an_example(text):
    with pytest.raises(OutOfRange) as raised:
        parse_memory_size(text, where="--device-memory")
    assert "16GiB" in raised.value.change[0]
    assert raised.value.where == "--device-memory"


def test_a_memory_size_without_a_unit_is_bytes_unless_it_is_too_small():
    assert parse_memory_size("17179869184") == 17179869184
    with pytest.raises(OutOfRange) as raised:
        parse_memory_size("16", where="--device-memory")
    assert raised.value.what == "16 without a unit is 16 bytes, and no GPU is that small"
    assert raised.value.change[0] == "16GiB, if that is meant"
