"""The grammar of CEL: cel-python's, patched.

Owns the patch and the options of the parser. Assumes the text of `cel.lark` as cel-python ships it;
a rule that is no longer there is an error when the table is built, never when a policy is loaded.
Must not know what the rules mean.
"""

from __future__ import annotations

from typing import Any, Final

OPTIONS: Final[dict[str, Any]] = {
    "parser": "lalr",
    "lexer": "contextual",
    "start": "expr",
    "keep_all_tokens": True,
    "maybe_placeholders": False,
}

# (what cel.lark has, what stands there instead). `true` and `false` are identifiers here, and so
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
    start, end = text.index("STRING_LIT     :"), text.index("// Moved into STRING_LIT")
    return text[:start] + _STRINGS + text[end:]
