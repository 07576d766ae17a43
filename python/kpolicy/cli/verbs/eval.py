"""`kpolicy eval`: the value of an expression.

Owns the verb's flags, the lines of a batch and its exit code. The evaluating is that of
`kpolicy.offline.decide.evaluate`, the layout that of `kpolicy.offline.reports`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from kpolicy.cli.flags import add_param_flag
from kpolicy.cli.inputs import SNAPSHOT_HELP, load_snapshot
from kpolicy.cli.verb import CannotWorkError

if TYPE_CHECKING:
    from kpolicy.offline.decide.evaluate import Evaluated, Evaluating
    from kpolicy.offline.decide.policy_names import PolicyNames

# A line of a batch: an expression of ten kilobytes and its variables.
LINE_CHARACTERS_MAX: Final = 16 << 20
_EPILOG: Final = """\
A variable is JSON: an object is a map, a number with a fraction a double. What JSON has no type
for is written {"uint": 1}, {"bytes": "BASE64"}, {"duration": "90s"},
{"timestamp": "2026-11-01T10:00:00Z"}, {"map": [[KEY, VALUE], …]}, {"optional": [VALUE]},
{"type": "int"}.

With a policy, an expression sees its `variables` and `params` too. With a rule and no expression,
that of the rule is evaluated: `kpolicy eval --policy P --rule headroom -s S --pod web --node n1`.

A batch has a JSON object a line: {"expr": TEXT, "vars": {NAME: VALUE}}, which may have "pod" and
"node" too. Every line is answered by a line, also one that cannot be read.

What the type checker refuses is said, and evaluated all the same: where the wrong part is not
reached there is a value.

exit: 0 evaluated (a batch: every line answered), 1 an error, 2 could not work
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "eval",
        help="evaluate an expression",
        description="Evaluate an expression, with variables, a pod and a node of a snapshot, or "
        "what a policy defines.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("expression", nargs="?", metavar="EXPR", help="the expression; - for stdin")
    parser.add_argument(
        "--snapshot",
        "-s",
        action="append",
        default=[],
        metavar="FILE|DIR|-",
        help=f"{SNAPSHOT_HELP}; repeatable",
    )
    parser.add_argument(
        "--pod",
        default="",
        metavar="NS/NAME",
        help="what `pod` and `namespaceObject` are (without a namespace: default)",
    )
    parser.add_argument("--node", default="", metavar="NAME", help="what `node` is")
    parser.add_argument(
        "--var",
        action="append",
        default=[],
        type=_variable,
        metavar="NAME=JSON",
        help="a variable; repeatable",
    )
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="FILE|DIR|-",
        help="whose `variables` and `params` the expression may use; repeatable",
    )
    parser.add_argument(
        "--rule",
        default="",
        metavar="NAME",
        help="the rule of the policy that is evaluated, or with an expression: whose names it sees "
        "(NAME, or POLICY/NAME)",
    )
    add_param_flag(parser)
    parser.add_argument(
        "--explain", action="store_true", help="show the value of every sub-expression"
    )
    parser.add_argument("--batch", default="", metavar="FILE|-", help="expressions, one a line")
    parser.add_argument(
        "--output", "-o", choices=("text", "json"), default="text", help="(default: %(default)s)"
    )


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


_variable.__name__ = "variable"


def main(args: argparse.Namespace) -> int:
    from kpolicy.offline.decide.evaluate import UNKNOWN_OBJECT, Evaluating

    _check_flags(args)
    names = None
    if args.policy:
        names = _names(args)
        if names is None:
            return 1
    work = Evaluating(load_snapshot(args.snapshot) if args.snapshot else None, names)
    if args.batch:
        return _batch(args, work)
    text = sys.stdin.read(LINE_CHARACTERS_MAX) if args.expression == "-" else args.expression
    if text is None:
        text = _of_rule(args.rule, names)
    evaluated = work.evaluate(
        text, dict(args.var), pod=args.pod, node=args.node, traced=args.explain
    )
    if evaluated.error is not None and evaluated.error.code == UNKNOWN_OBJECT:
        hint = f"; {evaluated.error.hint}" if evaluated.error.hint else ""
        raise CannotWorkError(f"{evaluated.error.message} in the snapshot{hint}")
    if args.output == "json":
        print(json.dumps(evaluated.line()))
    else:
        _show(evaluated)
    return 0 if evaluated.error is None and not evaluated.is_refused else 1


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


def _names(args: argparse.Namespace) -> PolicyNames | None:
    """What the policy lets an expression name; None when it has errors, which are said."""
    from kpolicy.cli.findings_text import say_findings
    from kpolicy.cli.inputs import policy_sources
    from kpolicy.diagnostics import has_errors
    from kpolicy.offline.decide.policy_names import NothingMeant, names_in
    from kpolicy.policy.compile import examine

    sources = [source for argument in args.policy for source in policy_sources(argument)]
    examined = examine(sources, params=dict(args.param))
    compiled = examined.compiled()
    if compiled.program is None and has_errors(compiled.diagnostics):
        say_findings(compiled.diagnostics, sources)
        return None
    names = names_in(examined, args.rule)
    if isinstance(names, NothingMeant):
        raise CannotWorkError(f"{names.message}; {names.hint}" if names.hint else names.message)
    return names


def _of_rule(rule: str, names: PolicyNames | None) -> str:
    text = names.expression if names is not None else ""
    if not text:
        raise CannotWorkError(
            f"the rule `{rule}` is a built-in, and has no expression; `kpolicy explain` says what "
            "it decides"
        )
    return text


def _show(evaluated: Evaluated) -> None:
    from kpolicy.cli.findings_text import Findings, full
    from kpolicy.offline.reports.evaluation_text import steps_text, value_text
    from kpolicy.policy.yaml.source import Source, SourceText, placed

    source = Source("<expression>", evaluated.expression)
    text = SourceText(source.name, evaluated.expression)
    findings = [placed(text, one) for one in (*evaluated.findings, *_as_finding(evaluated))]
    print(full(Findings.of(findings, [source])), end="", file=sys.stderr)
    if evaluated.error is None:
        print(value_text(evaluated))
    if evaluated.steps is not None:
        print("\n".join(steps_text(evaluated.steps)))


def _as_finding(evaluated: Evaluated) -> Iterator[Any]:
    from kpolicy.diagnostics import Diagnostic, Severity, has_errors

    error = evaluated.error
    if error is not None and not has_errors(evaluated.findings):
        yield Diagnostic(error.code, Severity.ERROR, error.message, error.hint, error.span)


def _batch(args: argparse.Namespace, work: Evaluating) -> int:
    for line in _lines(args.batch):
        if line.strip():
            print(json.dumps(_answer(args, work, line)), flush=True)
    return 0


def _lines(file: str) -> Iterator[str]:
    try:
        if file == "-":
            yield from _bounded(sys.stdin)
        else:
            with Path(file).open(encoding="utf-8", errors="replace") as lines:
                yield from _bounded(lines)
    except OSError as error:
        raise CannotWorkError(f"{file} cannot be read: {error.strerror}") from error


def _bounded(lines: IO[str]) -> Iterator[str]:
    """A line that is too long is cut, and then is no JSON."""
    while line := lines.readline(LINE_CHARACTERS_MAX):
        yield line
        while line and not line.endswith("\n"):
            line = lines.readline(LINE_CHARACTERS_MAX)


def _answer(args: argparse.Namespace, work: Evaluating, line: str) -> dict[str, Any]:
    """Whatever is wrong with a line is its answer."""
    from kpolicy.offline.decide.evaluate import BAD_REQUEST

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
    evaluated = work.evaluate(
        request["expr"], {**dict(args.var), **variables}, pod=pod, node=node, traced=args.explain
    )
    return evaluated.line()
