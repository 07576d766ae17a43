"""`kpolicy completion`: a script that completes verbs, flags and their values in a shell.

Owns the verb's flags. The scripts are those of `kpolicy.cli.verbs.completion`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

_SHELLS: Final = ("bash", "zsh", "fish")
_EPILOG: Final = """\
bash:  source <(kpolicy completion bash)              (in ~/.bashrc)
zsh:   kpolicy completion zsh > "${fpath[1]}/_kpolicy"
fish:  kpolicy completion fish > ~/.config/fish/completions/kpolicy.fish
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "completion",
        help="print completions for a shell",
        description="Print a script that completes verbs, flags and their values.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=_SHELLS)


def main(args: argparse.Namespace) -> int:
    scripts = {"bash": bash, "zsh": zsh, "fish": fish}
    sys.stdout.write(scripts[args.shell](command_tree()))
    return 0


# Metavars whose values are paths.
_PATH_WORDS: Final = ("FILE", "DIR", "PATH", "OLD", "NEW")


@dataclass(frozen=True, slots=True)
class Flag:
    """`values` are all that it takes; `takes_path` and `takes_value` say what else does."""

    names: tuple[str, ...]
    help: str
    takes_value: bool = False
    takes_path: bool = False
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """`words` lead to it: `("snapshot", "info")`."""

    words: tuple[str, ...]
    help: str
    flags: tuple[Flag, ...] = ()
    commands: tuple[Command, ...] = ()
    takes_path: bool = False
    values: tuple[str, ...] = ()

    def walk(self) -> Iterator[Command]:
        yield self
        for command in self.commands:
            yield from command.walk()


def command_tree() -> Command:
    from kpolicy.cli import VERBS, module_of, offered_verbs

    verbs = []
    for verb in offered_verbs():
        parser = argparse.ArgumentParser(prog="kpolicy", allow_abbrev=False)
        subparsers = parser.add_subparsers(dest="verb")
        module: Any = import_module(module_of(verb))
        module.add_parser(subparsers)
        verbs.append(_command(subparsers.choices[verb], (verb,), VERBS[verb]))
    version = Flag(("--version",), "show the version")
    return Command((), "", (_HELP, version), tuple(verbs))


_HELP: Final = Flag(("-h", "--help"), "show the help")


def _command(parser: argparse.ArgumentParser, words: tuple[str, ...], help_: str) -> Command:
    flags, commands = [], []
    takes_path, values = False, _codes() if words == ("rule",) else ()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands = [
                _command(child, (*words, name), told.get(name, ""))
                for name, child in action.choices.items()
            ]
        elif action.option_strings:
            flags.append(_flag(action))
        else:
            takes_path |= _is_path(action)
            values += tuple(map(str, action.choices or ()))
    return Command(words, help_, tuple(flags), tuple(commands), takes_path, values)


def _flag(action: argparse.Action) -> Flag:
    help_ = (action.help or "") % {"default": action.default, "prog": "kpolicy"}
    if isinstance(action, argparse._HelpAction):
        return _HELP
    return Flag(
        names=tuple(action.option_strings),
        help=" ".join(help_.split()),
        takes_value=action.nargs != 0,
        takes_path=_is_path(action),
        values=tuple(map(str, action.choices or ())),
    )


def _is_path(action: argparse.Action) -> bool:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    return bool(set(metavar.replace("=", "|").split("|")) & set(_PATH_WORDS)) and not action.choices


def _codes() -> tuple[str, ...]:
    from kpolicy.policy.codes.registry import pages

    return tuple(pages())


PROGRAMS = ("kpolicy", "kubectl-kpolicy")


def bash(tree: Command) -> str:
    commands = list(tree.walk())
    paths = "|".join(f'"{_path(one)}"' for one in commands if one.words)
    lines = [
        "# bash completion of kpolicy; source <(kpolicy completion bash)",
        "_kpolicy() {",
        '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
        '  local path="" flags="" words="" files="" index',
        '  if [[ $current == "=" ]]; then current=""; fi',
        '  if [[ $previous == "=" ]]; then previous="${COMP_WORDS[COMP_CWORD-2]}"; fi',
        "  for ((index = 1; index < COMP_CWORD; index++)); do",
        '    case "$path ${COMP_WORDS[index]}" in',
        f'      {paths}) path="$path ${{COMP_WORDS[index]}}" ;;',
        "    esac",
        "  done",
        '  case "$path:$previous" in',
        *(f"    {line}" for one in commands for line in _bash_values(one)),
        "  esac",
        "  if [[ -z $words ]]; then",
        '    case "$path" in',
        *(f"      {_bash_command(one)}" for one in commands),
        "    esac",
        '    if [[ $current == -* ]]; then words="$flags" files=""; fi',
        "  fi",
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "  if [[ -n $files ]]; then",
        "    compopt -o filenames 2>/dev/null",
        '    COMPREPLY+=($(compgen -f -- "$current"))',
        "  fi",
        "}",
        f"complete -F _kpolicy {' '.join(PROGRAMS)}",
    ]
    return "\n".join(lines) + "\n"


def _path(command: Command) -> str:
    return "".join(f" {word}" for word in command.words)


def _bash_values(command: Command) -> Iterator[str]:
    for flag in command.flags:
        if flag.takes_value:
            patterns = "|".join(f'"{_path(command)}:{name}"' for name in flag.names)
            words = " ".join(flag.values) or " "
            files = "1" if flag.takes_path else ""
            yield f'{patterns}) words="{words}" files="{files}" ;;'


def _bash_command(command: Command) -> str:
    flags = " ".join(name for flag in command.flags for name in flag.names)
    words = " ".join([*(one.words[-1] for one in command.commands), *command.values])
    files = "1" if command.takes_path else ""
    return f'"{_path(command)}") flags="{flags}" words="{words}" files="{files}" ;;'


def zsh(tree: Command) -> str:
    lines = [f"#compdef {' '.join(PROGRAMS)}", ""]
    for one in reversed(list(tree.walk())):
        lines += [*_zsh_function(one), ""]
    lines += [
        'if [[ "$funcstack[1]" == "_kpolicy" ]]; then',
        '  _kpolicy "$@"',
        "else",
        f"  compdef _kpolicy {' '.join(PROGRAMS)}",
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _zsh_function(command: Command) -> Iterator[str]:
    name = "_".join(["_kpolicy", *command.words])
    yield f"{name}() {{"
    yield "  local context state state_descr line"
    yield "  typeset -A opt_args"
    yield "  _arguments -C \\"
    for flag in command.flags:
        yield from (f"    {_zsh_flag(flag, spelled)} \\" for spelled in flag.names)
    if command.commands:
        yield "    '1: :->command' \\"
        yield "    '*:: :->rest'"
        yield '  case "$state" in'
        yield "    command)"
        described = " ".join(
            f"'{_zsh_text(one.words[-1])}:{_zsh_text(one.help)}'" for one in command.commands
        )
        yield f"      local -a commands=({described})"
        yield "      _describe command commands ;;"
        yield "    rest)"
        yield '      case "$line[1]" in'
        for one in command.commands:
            yield f"        {one.words[-1]}) {'_'.join(['_kpolicy', *one.words])} ;;"
        yield "      esac ;;"
        yield "  esac"
    elif command.values:
        yield f"    '*: :({' '.join(command.values)})'"
    else:
        yield "    '*: :_files'" if command.takes_path else "    '*: :'"
    yield "}"


def _zsh_flag(flag: Flag, spelled: str) -> str:
    told = f"[{_zsh_text(flag.help)}]"
    if not flag.takes_value:
        return f"'*{spelled}{told}'"
    action = f"({' '.join(flag.values)})" if flag.values else "_files" if flag.takes_path else " "
    return f"'*{spelled}{told}: :{action}'"


def _zsh_text(text: str) -> str:
    """Marks that end a description or a quoted word."""
    for mark in "\\[]:":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("'", "’")


def fish(tree: Command) -> str:
    lines = ["# fish completion of kpolicy; kpolicy completion fish | source"]
    for program in PROGRAMS:
        for one in tree.walk():
            lines += _fish_command(one, program)
    return "\n".join(lines) + "\n"


def _fish_command(command: Command, program: str) -> Iterator[str]:
    lead = f"complete -c {program} -n '{_fish_condition(command)}'"
    if not command.takes_path:
        yield f"{lead} -f"
    for child in command.commands:
        yield f"{lead} -a {child.words[-1]} -d '{_fish_text(child.help)}'"
    if command.values:
        yield f"{lead} -a '{' '.join(command.values)}'"
    for flag in command.flags:
        names = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names
        )
        value = ""
        if flag.values:
            value = f" -x -a '{' '.join(flag.values)}'"
        elif flag.takes_value:
            value = " -r -F" if flag.takes_path else " -x"
        yield f"{lead} {names}{value} -d '{_fish_text(flag.help)}'"


def _fish_condition(command: Command) -> str:
    if not command.words:
        return "__fish_use_subcommand"
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.words)
    children = " ".join(one.words[-1] for one in command.commands)
    return f"{seen}; and not __fish_seen_subcommand_from {children}" if children else seen


def _fish_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
