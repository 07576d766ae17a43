"""Finds the policies in sources, whatever kind of document they are written as.

Kinds are SchedulingPolicy, KubeSchedulerConfiguration, the legacy Policy, and ConfigMap or List
manifests that carry one of these as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from kpolicy.diagnostics import Diagnostic, Span, did_you_mean
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.models.scheduling_policy import API_VERSION, KIND
from kpolicy.policy.yaml.nodes import (
    Mapping,
    Node,
    Path,
    Scalar,
    find,
    first_character,
    items,
    string,
)
from kpolicy.policy.yaml.scalar_map import ScalarMap
from kpolicy.policy.yaml.source import Source, SourceText, placed
from kpolicy.policy.yaml.tree_reader import Documents, read_documents, read_text
from kpolicy.quick_dataclass import dataclass

POLICY_KEYS: Final = (".yaml", ".yml", ".json", ".cfg")


def carried(root: Node, path: Path = ()) -> Iterator[tuple[Path, Scalar]]:
    """The texts in ConfigMaps that may be policies, with their paths."""
    match string(find(root, ("kind",))):
        case "ConfigMap":
            data = find(root, ("data",))
            for entry in data.entries if isinstance(data, Mapping) else ():
                if isinstance(entry.value, Scalar) and entry.key.text.endswith(POLICY_KEYS):
                    yield (*path, "data", entry.key.text), entry.value
        case "List":
            for index, item in enumerate(items(find(root, ("items",)))):
                yield from carried(item, (*path, "items", index))


def rewritten_block(text: str, scalar: Scalar, value: str) -> str:
    """`text` with another value in the block; blank lines at its end stay as they are."""
    header, _, content = text[scalar.span.start : scalar.span.end].partition("\n")
    # The indentation: what the first line has beyond that of the value.
    pairs = zip(content.splitlines(), scalar.text.splitlines(), strict=False)
    pad = " " * next((len(line) - len(own) for line, own in pairs if line.strip()), 0)
    lines = [f"{pad}{line}" if line else "" for line in value.rstrip("\n").split("\n")]
    end = "\r\n" if header.endswith("\r") else "\n"
    last = content.find("\n", len(content.rstrip()))
    rest = content[last + 1 :] if last >= 0 else None
    block = f"{header}\n{end.join(lines)}" + ("" if rest is None else f"{end}{rest}")
    return text[: scalar.span.start] + block + text[scalar.span.end :]


def _looks_like_policy(root: Mapping) -> bool:
    from kpolicy.policy.legacy.scheduler_json import looks_like_policy  # noqa: PLC0415

    return looks_like_policy(root)


_KINDS: Final = (KIND, "KubeSchedulerConfiguration", "Policy", "ConfigMap", "List")
# Other kinds of kpolicy's API.
_OTHER_KINDS: Final = ("PolicyTest", "Scenario", "SchedulerConfiguration")


@dataclass(frozen=True, slots=True)
class Document:
    """A tree in the form of a SchedulingPolicy; its spans are offsets in `text`."""

    text: SourceText
    root: Mapping
    # The kind in the file: `SchedulingPolicy`, `KubeSchedulerConfiguration` or `Policy`.
    kind: str = KIND
    # The version in the file; a legacy Policy is always v1.
    version: str = "v1"


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """A manifest that may hold values of params. `data`: its texts by key."""

    text: SourceText
    name: str
    namespace: str
    data: Node | None
    # The finding if no policy takes params from it.
    without_policy: Diagnostic | None = None


@dataclass(frozen=True, slots=True)
class Found:
    documents: tuple[Document, ...]
    config_maps: tuple[ConfigMap, ...]
    diagnostics: tuple[Diagnostic, ...]
    # In the order of the sources.
    texts: tuple[SourceText, ...]


class _Collector:
    def __init__(self, release: str) -> None:
        self.documents: list[Document] = []
        self.config_maps: list[ConfigMap] = []
        self.diagnostics: list[Diagnostic] = []
        self._release = release
        self._is_named = True

    def take(self, read: Documents, *, is_named: bool = True) -> None:
        self._is_named = is_named
        self._report(read.text, read.diagnostics)
        for root in read.roots:
            self._root(read.text, root)

    def _root(self, text: SourceText, root: Node) -> None:
        if isinstance(root, Scalar) and root.value is None:
            return  # an empty document, for example after a last `---`
        if not isinstance(root, Mapping):
            self._report(text, [remark("KP101", "a policy is a map with `kind`", root.span)])
            return
        kind, version = string(root.get("kind")), string(root.get("apiVersion"))
        match kind:
            case "ConfigMap":
                self._config_map(text, root)
            case "List":
                for item in items(root.get("items")):
                    self._root(text, item)
            case "KubeSchedulerConfiguration":
                self._configuration(text, root, version.rpartition("/")[2])
            case "Policy" if version != API_VERSION:
                self._legacy_policy(text, root)
            case "SchedulingPolicy":
                self.documents.append(Document(text, root))
            case _ if not kind and _looks_like_policy(root):
                self._legacy_policy(text, root)
            case _ if kind not in _OTHER_KINDS if version == API_VERSION else self._is_named:
                self._report(text, [_unknown_kind(root, kind)])

    # Most sources are SchedulingPolicies only, and what reads the other kinds takes long to load.

    def _configuration(self, text: SourceText, root: Mapping, version: str) -> None:
        from kpolicy.policy.legacy import kubescheduler  # noqa: PLC0415

        self._converted(text, "KubeSchedulerConfiguration", kubescheduler.converted(root), version)

    def _legacy_policy(self, text: SourceText, root: Mapping) -> None:
        from kpolicy.policy.legacy import scheduler_json  # noqa: PLC0415

        self._converted(text, "Policy", scheduler_json.converted(text, root, self._release))

    def _converted(
        self,
        text: SourceText,
        kind: str,
        found: tuple[Sequence[Mapping], Iterable[Diagnostic]],
        version: str = "v1",
    ) -> None:
        roots, diagnostics = found
        self._report(text, diagnostics)
        self.documents.extend(Document(text, root, kind, version) for root in roots)

    def take_config_maps(self, text: SourceText, roots: Iterable[Node]) -> None:
        """Takes the ConfigMaps of a file that only holds values of params."""
        for root in roots:
            if isinstance(root, Mapping) and string(root.get("kind")) == "ConfigMap":
                self.config_maps.append(_config_map(text, root))

    def _config_map(self, text: SourceText, root: Mapping) -> None:
        data = root.get("data")
        entries = data.entries if isinstance(data, Mapping) else ()
        carried = [entry for entry in entries if entry.key.text.endswith(POLICY_KEYS)]
        found = _config_map(text, root)
        if not carried and self._is_named:
            finding = remark(
                "KP101",
                "this ConfigMap carries no policy",
                data.span if data is not None else _first_line(root),
                hint="end the name of a key in .yaml, .yml, .json or .cfg",
            )
            found = replace(found, without_policy=placed(text, finding))
        self.config_maps.append(found)
        for entry in carried:
            if isinstance(entry.value, Scalar) and isinstance(entry.value.value, str):
                to_file = ScalarMap(text.text, entry.value).span
                is_verbatim = text.is_verbatim and entry.value.style in ("|", ">")
                quoted = SourceText(text.name, entry.value.text, (text, to_file), is_verbatim)
                self.take(read_text(quoted), is_named=self._is_named)

    def _report(self, text: SourceText, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics.extend(placed(text, finding) for finding in diagnostics)


def find_documents(sources: Iterable[Source], release: str = "") -> Found:
    """Every policy of every source, in order. `release`: the legacy release that is meant."""
    collector = _Collector(release)
    texts: list[SourceText] = []
    for source in sources:
        read = read_documents(source)
        texts.append(read.text)
        if source.is_for_params:
            collector.take_config_maps(read.text, read.roots)
        else:
            collector.take(read, is_named=source.is_named)
    return Found(
        tuple(collector.documents),
        tuple(collector.config_maps),
        tuple(collector.diagnostics),
        tuple(texts),
    )


def _config_map(text: SourceText, root: Mapping) -> ConfigMap:
    metadata = root.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else root
    name, namespace = string(named.get("name")), string(named.get("namespace"))
    return ConfigMap(text, name, namespace, root.get("data"))


def is_of_kind(root: Node, kind: str) -> bool:
    """Whether a document is one of ours, of this kind and of any version."""
    is_ours = string(find(root, ("apiVersion",))).startswith("kpolicy.dev/")
    return is_ours and string(find(root, ("kind",))) == kind


def none_of_kind(roots: Sequence[Node], kind: str) -> Diagnostic:
    """The finding about a file that was named as one with such a document."""
    start = first_character(roots[0].span if roots else Span(0, 0))
    hint = f"start with `apiVersion: {API_VERSION}` and `kind: {kind}`"
    return remark("KP101", f"there is no {kind} in this file", start, hint=hint)


def _first_line(root: Mapping) -> Span:
    return root.entries[0].key.span if root.entries else root.span


def _unknown_kind(root: Mapping, kind: str) -> Diagnostic:
    node = root.get("kind")
    if not kind:
        return remark(
            "KP101",
            "this document has no `kind`",
            _first_line(root),
            hint=f"start with `apiVersion: {API_VERSION}` and `kind: {KIND}`",
        )
    listed = ", ".join(f"`{known}`" for known in _KINDS[:3])
    others = f"one of {listed}, or a ConfigMap that holds one"
    return remark(
        "KP101",
        f"`{kind}` is not a kind of policy",
        node.span if node is not None else root.span,
        hint=did_you_mean(kind, _KINDS) or others,
    )
