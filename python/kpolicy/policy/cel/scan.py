"""What is refused before the parser runs: length and nesting.

Owns the limits of texts. Assumes nothing: any text is scanned once, without recursion.
"""

from __future__ import annotations

import re
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity, Span

EXPRESSION_BYTES_MAX: Final = 10 * 1024
NESTING_MAX: Final = 64
# The depth of the tree also counts operators: `1+1+1` is deeper than `1+1`.
TREE_DEPTH_MAX: Final = 96

_TOKEN: Final = re.compile(
    r"""[rR](?:\"{3}(?:(?!\"{3})[\s\S])*\"{3}|'{3}(?:(?!'{3})[\s\S])*'{3}|"[^"\n]*"|'[^'\n]*')"""
    r"""|\"{3}(?:\\[\s\S]|(?!\"{3})[^\\])*\"{3}|'{3}(?:\\[\s\S]|(?!'{3})[^\\])*'{3}"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|`[^`\n]*`|[()\[\]{}]|[A-Za-z_0-9]+|[\s\S]"""
)


def refused(text: str) -> Diagnostic | None:
    """Why the text is not even parsed, if so."""
    length = len(text.encode("utf-8", "surrogatepass"))
    if length > EXPRESSION_BYTES_MAX:
        return _limit(
            f"the expression has {length:,} bytes, the limit is {EXPRESSION_BYTES_MAX:,}",
            Span(0, len(text)),
        )
    depth = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in "([{":
            depth += 1
            if depth > NESTING_MAX:
                return _limit(
                    f"more than {NESTING_MAX} brackets are open here", Span(*token.span())
                )
        elif mark in ")]}":
            depth = max(0, depth - 1)
        elif mark in "'\"":
            # A string that is never closed: the parser gets no further, and looking for its end
            # from each of its characters would take the square of its length.
            return None
    return None


def too_deep(span: Span) -> Diagnostic:
    return _limit(f"more than {TREE_DEPTH_MAX} operators are nested here", span)


def _limit(message: str, span: Span) -> Diagnostic:
    hint = "split it: name parts of it in `variables`"
    return Diagnostic("KP112", Severity.ERROR, message, hint, span)
