"""KP331 and KP332 of `messageExpression`: messages that are too long or not one line.

Only what holds of every text that the expression can give is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.cel.facts import ANNOTATION_BYTES_MAX
from kpolicy.policy.cel.tree import Call, Read, Tree
from kpolicy.policy.limits import MESSAGE_CHARACTERS_MAX
from kpolicy.policy.lint.terms import literal_text
from kpolicy.policy.lint.written import WrittenExpression, WrittenPolicy

_SHOWN: Final = f"{MESSAGE_CHARACTERS_MAX} bytes"


def messages(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    for rule in policy.rules:
        if rule.message is not None:
            yield from _of(policy, rule.message)


def _of(policy: WrittenPolicy, at: WrittenExpression) -> Iterator[Diagnostic]:
    parts = list(_joined(at.tree))
    texts = [(part, text) for part in parts if (text := literal_text(part)) is not None]
    broken = next((part for part, text in texts if "\n" in text or "\r" in text), None)
    if broken is not None:
        hint = "it is shown as one line"
        yield policy.finding(at, "KP332", "a message is one line", broken.span, hint)
    length = sum(len(text.encode("utf-8", "replace")) for _, text in texts)
    if length > MESSAGE_CHARACTERS_MAX:
        message = f"this message always has more than {_SHOWN}: {length:,} are written here"
        yield policy.finding(
            at, "KP331", message, at.tree.span, "what is beyond is cut off in events"
        )
        return
    long = next((part for part in parts if _is_long(part)), None)
    if long is not None:
        message = f"this message can have more than {_SHOWN}: an annotation is part of it"
        yield policy.finding(at, "KP331", message, long.span)


def _joined(tree: Tree) -> Iterator[Tree]:
    """What is put together by `+`, in order; it all counts."""
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, Call) and part.name == "add_string":
            pending.extend(reversed(part.args))
        else:
            yield part


def _is_long(tree: Tree) -> bool:
    return isinstance(tree, Read) and tree.size >= ANNOTATION_BYTES_MAX
