"""`kpolicy init`: writes a policy, its test, settings, a CI file and a pre-commit hook."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kpolicy.cli.input_output import write_back, write_errors
from kpolicy.cli.verb import FINE, CannotWorkError, Verb, argument

if TYPE_CHECKING:
    from kpolicy.offline.starter_folder import StarterAnswers

_EPILOG: Final = """\
Without flags and on a terminal, asks for the name of the policy and the rest; Enter takes what is
in brackets. Elsewhere, or with --yes, what no flag says has its default. A file that is there
already is kept as it is, unless --force is given.

exit: 0 written, 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    from kpolicy.offline.starter_folder import FOLDER, starter_files

    answers = _answers(args)
    folder = Path(args.folder)
    kept = []
    for name, text in starter_files(answers).items():
        path = folder / name
        if path.exists() and not args.force:
            kept.append(name)
            continue
        with write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_back(path, text.encode())
        print(f"wrote {path}", file=sys.stderr)
    for name in kept:
        print(f"kept {folder / name}, which was there already (--force replaces)", file=sys.stderr)
    where = FOLDER if args.folder == "." else folder / FOLDER
    print(f"next: kpolicy lint {where} && kpolicy test {where}", file=sys.stderr)
    return FINE


def _answers(args: argparse.Namespace) -> StarterAnswers:
    from kpolicy.offline.starter_folder import CI_SYSTEMS, StarterAnswers

    default = StarterAnswers()
    answers = {
        "name": args.name,
        "scheduler_name": args.scheduler_name,
        "base": args.base,
        "ci": args.ci,
        "has_hook": args.pre_commit,
    }
    asks = sys.stdin.isatty() and not args.yes and all(value is None for value in answers.values())
    if asks:
        answers = {
            "name": _ask("name", "name of the policy", default.name),
            "scheduler_name": _ask(
                "scheduler_name", "schedulerName of its pods", default.scheduler_name
            ),
            "base": _ask(
                "base", "policy that it stands on (`kpolicy policies` lists them)", default.base
            ),
            "ci": _ask("ci", f"CI ({', '.join(CI_SYSTEMS)})", default.ci),
            "has_hook": _ask("has_hook", "a pre-commit hook (yes, no)", "yes")
            .lower()
            .startswith("y"),
        }
    chosen = {key: value for key, value in answers.items() if value is not None}
    _check(chosen)
    return StarterAnswers(**chosen)


def _ask(key: str, question: str, default: str) -> str:
    """Asks again after an answer that cannot be used."""
    while True:
        print(f"{question} [{default}]: ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip() or default
        try:
            _check({key: answer})
        except CannotWorkError as refusal:
            print(refusal, file=sys.stderr)
            continue
        return answer


def _check(chosen: dict[str, object]) -> None:
    from pydantic import TypeAdapter, ValidationError

    from kpolicy.diagnostics import did_you_mean
    from kpolicy.offline.starter_folder import CI_SYSTEMS
    from kpolicy.policy.compile import shipped_names
    from kpolicy.policy.models.scheduling_policy import Name

    for key in ("name", "scheduler_name"):
        try:
            TypeAdapter(Name).validate_python(chosen.get(key, "kpolicy"))
        except ValidationError as error:
            hint = "letters, digits, `-`, `_` and `.`"
            raise CannotWorkError(f"`{chosen[key]}` is not a name: {hint}") from error
    base = chosen.get("base")
    if base is not None and base not in shipped_names():
        hint = did_you_mean(str(base), shipped_names()) or "`kpolicy policies` lists them"
        raise CannotWorkError(f"no policy `{base}` comes with kpolicy; {hint}")
    if chosen.get("ci", "none") not in CI_SYSTEMS:
        raise CannotWorkError(f"CI is one of {', '.join(CI_SYSTEMS)}, not `{chosen['ci']}`")


INIT: Final = Verb(
    "init",
    "Write what work on a policy begins with: a policy, its test, kpolicy.toml, a CI file and a "
    "pre-commit hook.",
    _main,
    (
        argument("folder", nargs="?", default=".", metavar="DIR", help="(default: this folder)"),
        argument("--name", help="name of the policy (default: first-policy)"),
        argument("--scheduler-name", metavar="NAME", help="schedulerName of its pods"),
        argument("--base", metavar="NAME", help="the shipped policy that it stands on"),
        argument("--ci", choices=("github", "gitlab", "none"), help="(default: github)"),
        argument(
            "--pre-commit",
            action=argparse.BooleanOptionalAction,
            default=None,
            help="write .pre-commit-config.yaml (default: yes)",
        ),
        argument("--yes", "-y", action="store_true", help="ask nothing"),
        argument("--force", action="store_true", help="replace files that are there already"),
    ),
    _EPILOG,
)
