"""Writes `parser_table.py` from cel-python's grammar: `python -m build.cel_parser_table`.

Run it when cel-python's grammar or lark changes: a test fails until then. It does not run when a
policy is loaded.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import re
import zlib
from pathlib import Path
from typing import Any, Final

import lark
from lark import Lark
from lark.grammar import Rule
from lark.parsers.lalr_analysis import Shift

from kpolicy.policy.cel import parser_table

TABLE: Final = Path(parser_table.__file__)
_LINE: Final = 90


def shipped_grammar() -> str:
    """`cel.lark` of the installed cel-python, without importing it."""
    specification = importlib.util.find_spec("celpy")
    if specification is None or specification.origin is None:
        raise ModuleNotFoundError("cel-python is not installed")
    return Path(specification.origin).with_name("cel.lark").read_text(encoding="utf-8")


def fingerprint() -> str:
    """What the table depends on: the patched grammar, the options, and lark's table format."""
    minor = ".".join(lark.__version__.split(".")[:2])
    text = patched(shipped_grammar()) + json.dumps(OPTIONS, sort_keys=True) + minor
    return hashlib.sha256(text.encode()).hexdigest()


def table(parser: Lark) -> dict[str, Any]:
    """What `policy/cel/table_parser.py` reads, of a parser that lark has made."""
    lexer: Any = parser.parser.lexer
    made: Any = parser.parser.parser
    parsing = made._parse_table
    lexers: list[Any] = []
    numbers = [_number(lexers, lexer.lexers[state]) for state in range(len(parsing.states))]
    rules = {rule: position for position, rule in enumerate(parser.rules)}
    return {
        "patterns": {each.name: each.pattern.to_regexp() for each in parser.terminals},
        "ignored": sorted(parser.ignore_tokens),
        "rules": [_rule(rule) for rule in parser.rules],
        "actions": [
            {
                symbol: target if action is Shift else -1 - rules[target]
                for symbol, (action, target) in sorted(parsing.states[state].items())
            }
            for state in range(len(parsing.states))
        ],
        "lexer_of": numbers,
        "every": _number(lexers, lexer.root_lexer),
        "lexers": lexers,
        "start": parsing.start_states["expr"],
        "end": parsing.end_states["expr"],
    }


def _number(lexers: list[Any], lexer: Any) -> int:
    """The place of the lexer among those that are told apart: the names of its terminals in order,
    and the words that are no identifiers there."""
    names = [terminal.name for terminal in lexer.scanner.terminals]
    words = {
        word.pattern.value: word.name
        for name, callback in lexer.callback.items()
        for word in callback.scanner.terminals
        if name == "IDENT"
    }
    if set(lexer.callback) - {"IDENT"}:
        raise ValueError(f"words that are other terminals too: {lexer.callback}")
    if [names, words] not in lexers:
        lexers.append([names, words])
    return lexers.index([names, words])


def _rule(rule: Rule) -> list[Any]:
    inner = [at for at, symbol in enumerate(rule.expansion) if symbol.name.startswith("__")]
    inner = [at for at in inner if not rule.expansion[at].is_term]
    if len(inner) > 1 or rule.alias:
        raise ValueError(f"the parser has no rules as {rule}")
    return [rule.origin.name, len(rule.expansion), rule.options.expand1, *(inner or [-1])]


def rendered() -> str:
    """The text of the module that holds the table."""
    parser = Lark(patched(shipped_grammar()), **OPTIONS)
    text = json.dumps(table(parser), separators=(",", ":"))
    packed = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    lines = [packed[at : at + _LINE] for at in range(0, len(packed), _LINE)]
    body = "\n".join(f'    "{line}"' for line in lines)
    return (
        '"""The parser table of CEL. Made by build/cel_parser_table.py; not for editing."""\n\n'
        f'FINGERPRINT = "{fingerprint()}"\n\n'
        f"PACKED = (\n{body}\n)\n"
    )


OPTIONS: Final[dict[str, Any]] = {
    "parser": "lalr",
    "lexer": "contextual",
    "start": "expr",
    "keep_all_tokens": True,
    "maybe_placeholders": False,
}

# (a rule of cel.lark, the rule that replaces it). `true` and `false` are identifiers here, and so
# keep positions.
_MEMBER: Final = (
    "member         : member_dot | member_dot_arg | member_index | member_object | primary"
)
_PATCH: Final[tuple[tuple[str, str], ...]] = (
    (
        f"{_MEMBER}\n",
        (
            f"{_MEMBER} | member_opt_dot | member_opt_index\n"
            'member_opt_dot : member ".?" sel\n'
            'member_opt_index : member "[" "?" expr "]"\n'
            "sel            : IDENT | ESC_IDENT\n"
            "ESC_IDENT      : /`[A-Za-z0-9_.\\-\\/ ]+`/\n"
        ),
    ),
    ('member_dot     : member "." IDENT\n', 'member_dot     : member "." sel\n'),
    (
        'list_lit       : "[" [exprlist] "]"\n',
        (
            'list_lit       : "[" [listinits] "]"\n'
            'listinits      : listitem ("," listitem)* ","?\n'
            'listitem       : "?"? expr\n'
        ),
    ),
    (
        'mapinits       : expr ":" expr ("," expr ":" expr)*\n',
        'mapinits       : mapitem ("," mapitem)* ","?\nmapitem        : "?"? expr ":" expr\n',
    ),
    ("               | BOOL_LIT | NULL_LIT\n", "               | NULL_LIT\n"),
    ('BOOL_LIT       : "true" | "false"\n', ""),
)

_THROUGH: Final = (
    "expr",
    "conditionalor",
    "conditionaland",
    "relation",
    "addition",
    "multiplication",
    "unary",
    "member",
    "primary",
    "sel",
)
# Strings in one way each: an open string takes exponential time with the shipped terminals.
_STRINGS: Final[str] = r"""
STRING_LIT.2   : /[rR]"[^"\r\n]*"/ | /[rR]'[^'\r\n]*'/
               | /"(?:\\.|[^"\\\r\n])*"/ | /'(?:\\.|[^'\\\r\n])*'/
MLSTRING_LIT.3 : /[rR]\"{3}(?:(?!\"{3})(?:.|\n|\r))*\"{3}/ | /[rR]'{3}(?:(?!'{3})(?:.|\n|\r))*'{3}/
               | /\"{3}(?:\\(?:.|\n|\r)|(?!\"{3})(?:[^\\]))*\"{3}/
               | /'{3}(?:\\(?:.|\n|\r)|(?!'{3})(?:[^\\]))*'{3}/
BYTES_LIT.4    : /[bB]/ MLSTRING_LIT | /[bB]/ STRING_LIT
"""


def patched(original: str) -> str:
    """The grammar that is used, from the grammar that cel-python ships."""
    text = original
    for old, new in _PATCH:
        if text.count(old) != 1:
            raise ValueError(f"cel.lark has changed, the patch does not find: {old!r}")
        text = text.replace(old, new)
    # Rules of a single child make no node.
    text = re.sub(rf"(?m)^({'|'.join(_THROUGH)})(?=\s*:)", r"?\1", text)
    start, end = text.index("STRING_LIT     :"), text.index("// Moved into STRING_LIT")
    return text[:start] + _STRINGS + text[end:]


if __name__ == "__main__":
    TABLE.write_text(rendered(), encoding="utf-8")
