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
from lark.lexer import TerminalDef

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


def _listed(value: Any) -> Any:
    """Dicts as lists of pairs under the key `~`, as JSON has only strings for keys."""
    if isinstance(value, dict):
        return {"~": [[key, _listed(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [_listed(item) for item in value]
    return value


def rendered() -> str:
    """The text of the module that holds the table."""
    parser = Lark(patched(shipped_grammar()), **OPTIONS)
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    text = json.dumps(_listed({"data": data, "memo": memo}), separators=(",", ":"))
    packed = base64.b85encode(zlib.compress(text.encode(), 9)).decode()
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
