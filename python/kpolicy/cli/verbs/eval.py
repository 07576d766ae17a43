"""`kpolicy eval`: prints the value of an expression, or the values of a batch of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from kpolicy.cli.findings_text import Findings, full, print_findings
from kpolicy.cli.input_output import (
    all_sources,
    load_snapshot,
    note_terminal,
    write_document,
    write_lines,
)
from kpolicy.cli.verb import (
    FINDINGS,
    FINE,
    NOW,
    PARAM,
    SNAPSHOT_HELP,
    CannotWorkError,
    PolicyErrorsError,
    Verb,
    argument,
    repeatable,
)
from kpolicy.diagnostics import Diagnostic, Severity, has_errors

if TYPE_CHECKING:
    from kpolicy.offline.answers.cross_check import CrossCheck
    from kpolicy.offline.answers.evaluate import Evaluated, Evaluating, PolicyNames

# A line of a batch: an expression of ten kilobytes and its variables.
LINE_CHARACTERS_MAX: Final = 16 << 20
_EPILOG: Final = """\
A variable is JSON: an object is a map, and a number with a fraction is a double. For other types
write {"uint": 1}, {"bytes": "BASE64"}, {"duration": "90s"}, {"timestamp": "2026-11-01T10:00:00Z"},
{"map": [[KEY, VALUE], …]}, {"optional": [VALUE]} or {"type": "int"}.

With --policy, the expression can read the `variables` and `params` of the policy. With --rule and
no EXPR, the expression of the rule is evaluated:
`kpolicy eval --policy P --rule headroom -s S --pod web --node n1`

Each line of a batch is a JSON object: {"expr": TEXT, "vars": {NAME: VALUE}}, also with "pod" and
"node". One line is printed for each, even if it cannot be read.

An expression with a type error is evaluated nevertheless, after the error was printed. There is a
result if the wrong part is not reached.

With --cross-check, cel-python also evaluates the expression. It takes from kpolicy the values of
facts, and of functions that are not in CEL's standard library. A known difference is printed with
the clause of the CEL specification that decides it. An unknown difference is a finding.

exit: 0 evaluated (for a batch: every line was answered), 1 an error or an unknown difference,
2 could not work
"""


def _variable(argument: str) -> tuple[str, Any]:
    name, sign, text = argument.partition("=")
    if not sign or not all(part.isidentifier() for part in name.split(".")):
        raise argparse.ArgumentTypeError(f"`{argument}` is not NAME=JSON")
    try:
        return name, json.loads(text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(
            f"`{text}` is not JSON ({error}); a text needs quotes: {name}='\"{text}\"'"
        ) from error


def _main(args: argparse.Namespace) -> int:
    from kpolicy.offline.answers.evaluate import UNKNOWN_OBJECT, Evaluating

    _check_flags(args)
    names = _policy_names(args) if args.policy else None
    snapshot = load_snapshot(args.snapshot) if args.snapshot else None
    work = Evaluating(snapshot, names, now_ns=args.now)
    if args.batch:
        return _batch(args, work)
    if args.expression == "-":
        note_terminal("an expression")
    text = sys.stdin.read(LINE_CHARACTERS_MAX) if args.expression == "-" else args.expression
    if text is None:
        text = _rule_expression(args.rule, names)
    values = dict(args.var)

    def evaluate(part: str) -> Evaluated:
        return work.evaluate(part, values, pod=args.pod, node=args.node, traced=args.explain)

    evaluated = evaluate(text)
    if evaluated.error is not None and evaluated.error.code == UNKNOWN_OBJECT:
        hint = f"; {evaluated.error.hint}" if evaluated.error.hint else ""
        raise CannotWorkError(f"{evaluated.error.message} in the snapshot{hint}")
    check = _cross_check(text, evaluate, values) if args.cross_check else None
    if args.output == "json":
        write_document("eval", _line(evaluated, check))
    elif args.output == "jsonl":
        write_lines([_line(evaluated, check)])
    else:
        _print(evaluated)
        if check is not None:
            print(check, file=sys.stderr)
    is_fine = evaluated.error is None and not evaluated.is_refused
    return FINE if is_fine and not (check is not None and check.is_finding) else FINDINGS


def _cross_check(
    text: str, evaluate: Callable[[str], Evaluated], variables: Iterable[str]
) -> CrossCheck:
    from kpolicy.offline.answers.cross_check import cross_check

    return cross_check(text, evaluate, tuple(variables))


def _line(evaluated: Evaluated, check: CrossCheck | None) -> dict[str, Any]:
    line = evaluated.line()
    return line if check is None else line | {"crossCheck": check.line()}


def _batch(args: argparse.Namespace, work: Evaluating) -> int:
    """Answers every line; an unknown difference is a finding."""
    status = FINE
    for line in _lines(args.batch):
        if line.strip():
            answer = _answer(args, work, line)
            print(json.dumps(answer), flush=True)
            difference = answer.get("crossCheck", {}).get("difference")
            if difference is not None and "known" not in difference:
                status = FINDINGS
    return status


def _check_flags(args: argparse.Namespace) -> None:
    has_expression = args.expression is not None
    if has_expression and args.batch:
        raise CannotWorkError("an expression or --batch FILE is needed, and not both")
    if not (has_expression or args.batch or args.rule):
        raise CannotWorkError("an expression, --batch FILE or --rule NAME is needed")
    if (args.pod or args.node) and not args.snapshot:
        raise CannotWorkError("--pod and --node need --snapshot")
    if (args.rule or args.param) and not args.policy:
        raise CannotWorkError("--rule and --param need --policy")


def _policy_names(args: argparse.Namespace) -> PolicyNames:
    """The names that the policy offers to an expression."""
    from kpolicy.offline.answers.evaluate import NothingMeant, names_in
    from kpolicy.policy.compile import examine

    sources = all_sources(args.policy)
    examined = examine(sources, params=dict(args.param))
    compiled = examined.compiled()
    if compiled.program is None and has_errors(compiled.diagnostics):
        print_findings(compiled.diagnostics, sources)
        raise PolicyErrorsError
    names = names_in(examined, args.rule)
    if isinstance(names, NothingMeant):
        raise CannotWorkError(f"{names.message}; {names.hint}" if names.hint else names.message)
    return names


def _rule_expression(rule: str, names: PolicyNames | None) -> str:
    if names is None or not names.expression:
        raise CannotWorkError(
            f"the rule `{rule}` is a built-in, and has no expression; `kpolicy explain` says what "
            "it decides"
        )
    return names.expression


def _print(evaluated: Evaluated) -> None:
    from kpolicy.offline.reports.answer_text import value_text
    from kpolicy.offline.reports.steps_text import steps_text
    from kpolicy.policy.yaml.source import Source, SourceText, placed

    source = Source("<expression>", evaluated.expression)
    text = SourceText(source.name, evaluated.expression)
    findings, error = list(evaluated.findings), evaluated.error
    if error is not None and not has_errors(evaluated.findings):
        findings.append(
            Diagnostic(error.code, Severity.ERROR, error.message, error.hint, error.span)
        )
    shown = [placed(text, finding) for finding in findings]
    print(full(Findings.of(shown, [source])), end="", file=sys.stderr)
    if error is None:
        print(value_text(evaluated))
    if evaluated.steps is not None:
        print("\n".join(steps_text(evaluated.steps)))


def _lines(file: str) -> Iterator[str]:
    try:
        if file == "-":
            note_terminal("a batch")
            yield from _bounded(sys.stdin)
        else:
            with Path(file).open(encoding="utf-8", errors="replace") as lines:
                yield from _bounded(lines)
    except OSError as error:
        raise CannotWorkError(f"{file} cannot be read: {error.strerror}") from error


def _bounded(lines: IO[str]) -> Iterator[str]:
    """Cuts a line that is too long. What is left of it is no JSON."""
    while line := lines.readline(LINE_CHARACTERS_MAX):
        yield line
        while line and not line.endswith("\n"):
            line = lines.readline(LINE_CHARACTERS_MAX)


def _answer(args: argparse.Namespace, work: Evaluating, line: str) -> dict[str, Any]:
    """The answer to a line of a batch. A line that cannot be read is answered with an error."""
    from kpolicy.offline.answers.evaluate import BAD_REQUEST

    def refused(message: str) -> dict[str, Any]:
        return {"error": {"code": BAD_REQUEST, "message": message}}

    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        return refused(f"the line is not JSON: {error}")
    if not isinstance(request, Mapping) or not isinstance(request.get("expr"), str):
        return refused('a line is an object with a text `expr`: {"expr": "1 + 1"}')
    variables = request.get("vars") or {}
    if not isinstance(variables, Mapping):
        return refused("`vars` is an object from names to values")
    pod, node = request.get("pod") or args.pod, request.get("node") or args.node
    if not isinstance(pod, str) or not isinstance(node, str):
        return refused("`pod` and `node` are names")
    text, values = request["expr"], {**dict(args.var), **variables}

    def evaluate(part: str) -> Evaluated:
        return work.evaluate(part, values, pod=pod, node=node, traced=args.explain)

    check = _cross_check(text, evaluate, values) if args.cross_check else None
    return _line(evaluate(text), check)


_variable.__name__ = "variable"
EVAL: Final = Verb(
    "eval",
    "Evaluate an expression. It can read variables, a pod and a node of a snapshot, and what a "
    "policy defines.",
    _main,
    (
        argument("expression", nargs="?", metavar="EXPR", help="the expression; - for stdin"),
        repeatable("--snapshot", "-s", metavar="FILE|DIR|-", help=f"{SNAPSHOT_HELP}; repeatable"),
        NOW,
        argument(
            "--pod",
            default="",
            metavar="NS/NAME",
            help="the pod that the expression reads as `pod` (without NS: namespace default)",
        ),
        argument(
            "--node",
            default="",
            metavar="NAME",
            help="the node that the expression reads as `node`",
        ),
        repeatable(
            "--var", type=_variable, metavar="NAME=JSON", help="sets a variable; repeatable"
        ),
        repeatable(
            "--policy",
            metavar="FILE|DIR|-",
            help="the policy whose `variables` and `params` the expression can read; repeatable",
        ),
        argument(
            "--rule",
            default="",
            metavar="NAME",
            help="the rule to evaluate (NAME, or POLICY/NAME); with an expression, the rule whose "
            "names it can read",
        ),
        PARAM,
        argument(
            "--explain", action="store_true", help="show the value of every part of the expression"
        ),
        argument(
            "--cross-check",
            action="store_true",
            help="compare with the result of cel-python, and say which follows the specification",
        ),
        argument(
            "--batch", default="", metavar="FILE|-", help="a file with one expression on each line"
        ),
        argument(
            "--output",
            "-o",
            choices=("text", "json", "jsonl"),
            default="text",
            help="(default: %(default)s)",
        ),
    ),
    _EPILOG,
)
