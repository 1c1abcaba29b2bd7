"""Completion scripts for bash, zsh and fish, from the parsers of the commands: nothing is listed twice by hand."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

from holdfast.cli.arguments import Parser

#: Metavariables that name a file, a folder or a run: completed with files.
_FILES = re.compile(
    r"DIR|FOLDER|FILE|PATH|SRC|DST|RUN|RECIPE|DATA|OLD|NEW|MODEL|WEIGHTS|IMAGES?|PAGE|OUT|SOURCE|DESTINATION|CMD|^D$"
)


@dataclass(frozen=True, slots=True)
class DescribedOption:
    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] = ()  # that can be chosen from
    takes_value: bool = False
    files: bool = False  # the value is a file or a folder


@dataclass(frozen=True, slots=True)
class DescribedCommand:
    """`words` is the path to it: ("data", "convert")."""

    words: tuple[str, ...]
    help: str
    options: tuple[DescribedOption, ...]
    values: tuple[str, ...] = ()  # that a positional argument can be chosen from
    watches: bool = False  # another command follows after `--`
    subcommands: tuple[tuple[str, str], ...] = ()


def described_commands() -> list[DescribedCommand]:
    from holdfast.cli.main import COMMANDS

    found: list[DescribedCommand] = []
    for command in COMMANDS:
        parser = Parser(prog=f"holdfast {command.name}")
        import_module(command.module).add_arguments(parser)
        found += _described((command.name,), command.help, parser)
    return found


def _described(
    words: tuple[str, ...], help: str, parser: argparse.ArgumentParser
) -> Iterator[DescribedCommand]:
    options: list[DescribedOption] = []
    values: list[str] = []
    subcommands: list[tuple[str, str]] = []
    watches = any(action.nargs == argparse.REMAINDER for action in parser._actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, child in action.choices.items():
                subcommands.append((name, helps.get(name, "")))
                yield from _described((*words, name), helps.get(name, ""), child)
        elif action.help == argparse.SUPPRESS:
            continue
        elif action.option_strings:
            options.append(_option(action))
        elif action.choices is not None:
            values += [str(one) for one in action.choices]
    if words == ("causes",):
        from holdfast.explain.causes import BY_SLUG

        values += BY_SLUG
    yield DescribedCommand(words, help, tuple(options), tuple(values), watches, tuple(subcommands))


def _option(action: argparse.Action) -> DescribedOption:
    names = tuple(action.option_strings)
    choices = tuple(str(one) for one in action.choices) if action.choices is not None else ()
    takes = action.nargs != 0
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return DescribedOption(
        names, _one_line(action.help or ""), choices, takes, takes and bool(_FILES.search(metavar))
    )


def _one_line(text: str) -> str:
    return " ".join(text.replace("%%", "%").split())


def script(shell: str, commands: list[DescribedCommand]) -> str:
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


# -- bash and zsh: one function over a table --------------------------------------------------------


def _top(commands: list[DescribedCommand]) -> list[DescribedCommand]:
    return [one for one in commands if len(one.words) == 1]


def _bash(commands: list[DescribedCommand]) -> str:
    """`words` are what may come next; `values` what may follow an option."""
    names = " ".join(one.words[0] for one in _top(commands))
    cases = "\n".join(_bash_case(one) for one in commands)
    return f"""# completion of holdfast for bash; made by `holdfast completion bash`
_holdfast() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" at command="" words="" values=""
  [[ $current == = ]] && current=""
  [[ $previous == = ]] && previous="${{COMP_WORDS[COMP_CWORD-2]}}"   # bash splits --option=value into three
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "${{COMP_WORDS[at]}}" in
      --)  # the user's own command
        if declare -F _command_offset >/dev/null; then _command_offset $((at + 1))
        elif ((at + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$current"))
        else compopt -o default; fi
        return ;;
      -*) ;;
      *) case "$command" in
           "") command="${{COMP_WORDS[at]}}" ;;
           data) command="data ${{COMP_WORDS[at]}}" ;;
         esac ;;
    esac
  done
  case "$command" in
    "") words="{names} --help --version" ;;
{cases}
  esac
  if [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ $current == -* || -z $command ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    local plain=""
    for at in $words; do [[ $at == -* ]] || plain+=" $at"; done
    COMPREPLY=($(compgen -W "$plain" -- "$current"))
    [[ ${{#COMPREPLY[@]}} -gt 0 ]] || compopt -o default
  fi
}}
complete -F _holdfast holdfast
"""


def _bash_case(command: DescribedCommand) -> str:
    options = " ".join(name for option in command.options for name in option.names)
    words = " ".join(filter(None, (options, *command.values, *(name for name, _ in command.subcommands))))
    lines = [f'    "{" ".join(command.words)}") words="{words}"']
    choosing = [option for option in command.options if option.values]
    if choosing:
        lines.append('      case "$previous" in')
        lines += [f'        {"|".join(one.names)}) values="{" ".join(one.values)}" ;;' for one in choosing]
        lines.append("      esac")
    return "\n".join(lines) + " ;;"


def _zsh(commands: list[DescribedCommand]) -> str:
    listed = "\n".join(f"    {_zsh_text(one.words[0], one.help)}" for one in _top(commands))
    cases = "\n".join(_zsh_case(one) for one in _top(commands))
    functions = "\n".join(_zsh_subcommands(one, commands) for one in _top(commands) if one.subcommands)
    return f"""#compdef holdfast
# completion of holdfast for zsh; made by `holdfast completion zsh`
{functions}
_holdfast() {{
  local context state line
  local -a commands
  local at=${{words[(i)--]}}
  if (( at < CURRENT )); then   # the user's own command
    words=("${{(@)words[at+1,-1]}}"); (( CURRENT -= at )); _normal; return
  fi
  commands=(
{listed}
  )
  _arguments -C '(- *)--help[list the commands]' '(- *)--version[print the version]' \\
    '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe -t commands 'command' commands ;;
    argument)
      case $words[1] in
{cases}
      esac ;;
  esac
}}
compdef _holdfast holdfast
"""


def _zsh_case(command: DescribedCommand) -> str:
    if command.subcommands:
        return f"        {command.words[0]}) _holdfast_{command.words[0]} ;;"
    return f"        {command.words[0]}) _arguments -s {_zsh_arguments(command)} ;;"


def _zsh_subcommands(command: DescribedCommand, commands: list[DescribedCommand]) -> str:
    name = command.words[0]
    children = [one for one in commands if one.words[:-1] == command.words]
    listed = " ".join(_zsh_text(one.words[-1], one.help) for one in children)
    cases = "\n".join(f"        {one.words[-1]}) _arguments -s {_zsh_arguments(one)} ;;" for one in children)
    return f"""_holdfast_{name}() {{
  local context state line
  local -a actions
  actions=({listed})
  _arguments -C '1:action:->action' '*::argument:->argument'
  case $state in
    action) _describe -t actions 'action' actions ;;
    argument)
      case $words[1] in
{cases}
      esac ;;
  esac
}}"""


def _zsh_text(name: str, help: str) -> str:
    return "'" + f"{name}:{help}".replace("'", "'\\''") + "'"


def _zsh_arguments(command: DescribedCommand) -> str:
    specs = [spec for option in command.options for spec in _zsh_option(option)]
    rest = f"*:value:({' '.join(command.values)})" if command.values else "*:file:_files"
    return " ".join("'" + spec.replace("'", "'\\''") + "'" for spec in (*specs, rest))


def _zsh_option(option: DescribedOption) -> Iterator[str]:
    help = re.sub(r"([\[\]:\\])", r"\\\1", option.help[:120])
    for name in option.names:
        value = ""
        if option.values:
            value = f":value:({' '.join(option.values)})"
        elif option.takes_value:
            value = ":file:_files" if option.files else ":value: "
        yield f"*{name}{'=' if value and name.startswith('--') else ''}[{help}]{value}"


def _fish(commands: list[DescribedCommand]) -> str:
    lines = [
        "# completion of holdfast for fish; made by `holdfast completion fish`",
        "complete -c holdfast -f",
        "function __holdfast_own_command  # that follows after `--`",
        "  set -l words (commandline -opc)",
        "  set -l at (contains -i -- -- $words); or return 1",
        "  set -e words[1..$at]",
        "  complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))",
        "end",
    ]
    for command in _top(commands):
        lines.append(
            f"complete -c holdfast -n __fish_use_subcommand -a {command.words[0]} -d {_fish_text(command.help)}"
        )
    lines.append("complete -c holdfast -n __fish_use_subcommand -l help -d 'list the commands'")
    lines.append("complete -c holdfast -n __fish_use_subcommand -l version -d 'print the version'")
    for command in commands:
        lines += _fish_lines(command)
    return "\n".join(lines) + "\n"


def _fish_lines(command: DescribedCommand) -> Iterator[str]:
    seen = f"__fish_seen_subcommand_from {command.words[0]}"
    if len(command.words) > 1:
        seen += f"; and __fish_seen_subcommand_from {command.words[1]}"
    names = " ".join(name for name, _ in command.subcommands)
    first = f"{seen}; and not __fish_seen_subcommand_from {names}" if names else seen
    for name, help in command.subcommands:
        yield f"complete -c holdfast -n '{first}' -a {name} -d {_fish_text(help)}"
    if command.values:
        yield f"complete -c holdfast -n '{seen}' -a '{' '.join(command.values)}'"
    elif command.watches:
        yield f"complete -c holdfast -n '{seen}; and contains -- -- (commandline -opc)' -a '(__holdfast_own_command)'"
    elif not command.subcommands:
        yield f"complete -c holdfast -n '{seen}' -F"
    for option in command.options:
        flags = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
        )
        value = ""
        if option.values:
            value = f" -x -a '{' '.join(option.values)}'"
        elif option.takes_value:
            value = " -r -F" if option.files else " -x"
        yield f"complete -c holdfast -n '{seen}' {flags}{value} -d {_fish_text(option.help[:120])}"


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
