"""What must hold of laying out any input.

No exception. The output can be read, is laid out already, has the same comments, and compiles to
the same program or the same findings. Nothing outside of kpolicy's documents moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.document_kinds import carried
from kpolicy.policy.format.reformat import comments_of, reformat
from kpolicy.policy.yaml.source import Source, SourceText
from kpolicy.policy.yaml.tree_reader import read_documents, read_text

_MANIFEST: Final = (
    b"apiVersion: v1\nkind:   ConfigMap\nmetadata: {name:  x}\ndata:\n  p.yaml: |%s\n%s  z: '1'\n"
)


def check(data: bytes) -> frozenset[str]:
    """Raises where a promise is broken; gives what became of it, to tell inputs apart."""
    found = _laid_out(data)
    if b"\r" not in data and b"kind: ConfigMap" not in data:
        found |= {f"carried {change}" for change in _laid_out(_in_manifest(data))}
    return frozenset(found)


def _in_manifest(data: bytes) -> bytes:
    """The input as a ConfigMap may carry it."""
    lines = [b"     " + line if line.strip() else b"" for line in data.split(b"\n")]
    return _MANIFEST % (b"3" if data[:1] in b" \n" else b"", b"\n".join(lines) + b"\n")


def _laid_out(data: bytes) -> set[str]:
    source = Source("input.yaml", data)
    made = reformat(source)
    if made.text is None:
        assert made.diagnostics
        return {finding.code for finding in made.diagnostics}
    old = data.decode("utf-8")
    if made.text == old:
        return {"same"}
    again = reformat(Source("input.yaml", made.text))
    assert again.text == made.text, "formatting again must not change the text"
    assert _comments(made.text) == _comments(old), "the comments differ"
    assert _meaning(made.text) == _meaning(old), "the meaning differs"
    return {"changed"}


def _comments(text: str) -> list[str]:
    return sorted(_each_comment(text))


def _each_comment(text: str) -> Iterator[str]:
    read = read_documents(Source("input.yaml", text))
    yield from comments_of(read)
    for root in read.roots:
        for _, scalar in carried(root):
            yield from comments_of(read_text(SourceText("carried", scalar.text)))


def _meaning(text: str) -> object:
    compiled = compile_policy(Source("input.yaml", text))
    if compiled.program is None:
        return sorted(finding.code for finding in compiled.diagnostics)
    return compiled.program.hash
