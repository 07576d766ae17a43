"""`kpolicy completion`: prints a script that completes verbs, flags and their values in a shell.

The scripts are made from the argument parsers. Verbs, flags and values have no quotes or blanks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kpolicy.cli import VERBS, load_verb
from kpolicy.cli.verb import Verb, argument

PROGRAMS: Final = ("kpolicy", "kubectl-kpolicy")
# Metavars whose values are paths.
_PATH_WORDS: Final = frozenset({"FILE", "DIR", "PATH", "OLD", "NEW"})
_EPILOG: Final = """\
bash:  source <(kpolicy completion bash)              (in ~/.bashrc)
zsh:   kpolicy completion zsh > "${fpath[1]}/_kpolicy"
fish:  kpolicy completion fish > ~/.config/fish/completions/kpolicy.fish
"""


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag. `values` lists all its values if there are only a few."""

    names: tuple[str, ...]
    help: str
    takes_value: bool = False
    takes_path: bool = False
    values: tuple[str, ...] = ()


_HELP: Final = Flag(("-h", "--help"), "show the help")


@dataclass(frozen=True, slots=True)
class Command:
    """A verb with its flags and the verbs below it. `words` lead to it: `("snapshot", "info")`."""

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
    subparsers = argparse.ArgumentParser(prog="kpolicy").add_subparsers()
    for name in VERBS:
        load_verb(name).add_to(subparsers)
    version = Flag(("--version",), "show the version")
    verbs = (_command(subparsers.choices[name], (name,), help_) for name, help_ in VERBS.items())
    return Command((), "", (_HELP, version), tuple(verbs))


def _command(parser: argparse.ArgumentParser, words: tuple[str, ...], help_: str) -> Command:
    flags, commands = [], []
    takes_path, values = False, _codes() if words == ("rule",) else ()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands = [
                _command(child, (*words, name), summaries.get(name, ""))
                for name, child in action.choices.items()
            ]
        elif action.option_strings:
            flags.append(_flag(action))
        else:
            takes_path |= _is_path(action)
            values += tuple(map(str, action.choices or ()))
    return Command(words, help_, tuple(flags), tuple(commands), takes_path, values)


def _flag(action: argparse.Action) -> Flag:
    if isinstance(action, argparse._HelpAction):
        return _HELP
    help_ = (action.help or "") % {"default": action.default, "prog": "kpolicy"}
    return Flag(
        names=tuple(action.option_strings),
        help=" ".join(help_.split()),
        takes_value=action.nargs != 0,
        takes_path=_is_path(action),
        values=tuple(map(str, action.choices or ())),
    )


def _is_path(action: argparse.Action) -> bool:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    return not action.choices and not _PATH_WORDS.isdisjoint(metavar.replace("=", "|").split("|"))


def _codes() -> tuple[str, ...]:
    from kpolicy.policy.codes.registry import pages

    return tuple(pages())


def _path(command: Command) -> str:
    return "".join(f" {word}" for word in command.words)


def bash(tree: Command) -> str:
    commands = list(tree.walk())
    paths = "|".join(f'"{_path(command)}"' for command in commands if command.words)
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
        *(f"    {line}" for command in commands for line in _bash_values(command)),
        "  esac",
        "  if [[ -z $words ]]; then",
        '    case "$path" in',
        *(f"      {_bash_command(command)}" for command in commands),
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


def _bash_values(command: Command) -> Iterator[str]:
    for flag in command.flags:
        if flag.takes_value:
            patterns = "|".join(f'"{_path(command)}:{name}"' for name in flag.names)
            words = " ".join(flag.values) or " "
            yield f'{patterns}) words="{words}" files="{"1" * flag.takes_path}" ;;'


def _bash_command(command: Command) -> str:
    flags = " ".join(name for flag in command.flags for name in flag.names)
    words = " ".join([*(child.words[-1] for child in command.commands), *command.values])
    files = "1" * command.takes_path
    return f'"{_path(command)}") flags="{flags}" words="{words}" files="{files}" ;;'


def zsh(tree: Command) -> str:
    lines = [f"#compdef {' '.join(PROGRAMS)}", ""]
    for command in reversed(list(tree.walk())):
        lines += [*_zsh_function(command), ""]
    lines += [
        'if [[ "$funcstack[1]" == "_kpolicy" ]]; then',
        '  _kpolicy "$@"',
        "else",
        f"  compdef _kpolicy {' '.join(PROGRAMS)}",
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _zsh_function(command: Command) -> list[str]:
    lines = [
        f"{'_'.join(['_kpolicy', *command.words])}() {{",
        "  local context state state_descr line",
        "  typeset -A opt_args",
        "  _arguments -C \\",
        *(f"    {_zsh_flag(flag, name)} \\" for flag in command.flags for name in flag.names),
    ]
    if command.commands:
        described = " ".join(
            f"'{_zsh_text(child.words[-1])}:{_zsh_text(child.help)}'" for child in command.commands
        )
        lines += [
            "    '1: :->command' \\",
            "    '*:: :->rest'",
            '  case "$state" in',
            "    command)",
            f"      local -a commands=({described})",
            "      _describe command commands ;;",
            "    rest)",
            '      case "$line[1]" in',
            *(
                f"        {child.words[-1]}) {'_'.join(['_kpolicy', *child.words])} ;;"
                for child in command.commands
            ),
            "      esac ;;",
            "  esac",
        ]
    elif command.values:
        lines.append(f"    '*: :({' '.join(command.values)})'")
    else:
        lines.append("    '*: :_files'" if command.takes_path else "    '*: :'")
    return [*lines, "}"]


def _zsh_flag(flag: Flag, name: str) -> str:
    help_ = f"[{_zsh_text(flag.help)}]"
    if not flag.takes_value:
        return f"'*{name}{help_}'"
    action = f"({' '.join(flag.values)})" if flag.values else "_files" if flag.takes_path else " "
    return f"'*{name}{help_}: :{action}'"


def _zsh_text(text: str) -> str:
    """Escapes marks that would end a description or a quoted word."""
    for mark in "\\[]:":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("'", "’")


def fish(tree: Command) -> str:
    lines = ["# fish completion of kpolicy; kpolicy completion fish | source"]
    for program in PROGRAMS:
        for command in tree.walk():
            lines += _fish_command(command, program)
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
        value = " -r -F" if flag.takes_path else " -x" if flag.takes_value else ""
        if flag.values:
            value = f" -x -a '{' '.join(flag.values)}'"
        yield f"{lead} {names}{value} -d '{_fish_text(flag.help)}'"


def _fish_condition(command: Command) -> str:
    if not command.words:
        return "__fish_use_subcommand"
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.words)
    children = " ".join(child.words[-1] for child in command.commands)
    return f"{seen}; and not __fish_seen_subcommand_from {children}" if children else seen


def _fish_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


_SCRIPTS: Final = {"bash": bash, "zsh": zsh, "fish": fish}


def _main(args: argparse.Namespace) -> int:
    sys.stdout.write(_SCRIPTS[args.shell](command_tree()))
    return 0


COMPLETION: Final = Verb(
    "completion",
    "Print a script that completes verbs, flags and their values.",
    _main,
    (argument("shell", choices=tuple(_SCRIPTS)),),
    _EPILOG,
)
