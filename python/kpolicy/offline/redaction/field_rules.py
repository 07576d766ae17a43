"""What redaction does with a field: small rules, how they are combined, and the words that replace
names.

A field without a rule is dropped. So is a value that has another form than its rule expects. All
kinds of names share one keyed hash, because a node's name is also a label's value and a volume's
topology.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

# Ten bytes: among a million words, the chance of a collision is one in two million million.
_HASH_BYTES: Final = 10
# Begins with a letter and has only letters and digits, so that it is valid as a name, a label value
# and a DNS label.
PREFIX: Final = "x"
STANDS_FOR: Final = re.compile(rf"{PREFIX}[a-z2-7]{{16}}")

# Namespaces that every cluster has.
NAMESPACES_KEPT: Final = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
# Labels whose values say what kind of thing a node is, in words that providers document.
LABELS_KEPT: Final = frozenset(
    {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "cloud.google.com/gke-provisioning",
        "cloud.google.com/gke-spot",
        "eks.amazonaws.com/capacityType",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "karpenter.sh/capacity-type",
        "kubernetes.azure.com/scalesetpriority",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "node.kubernetes.io/windows-build",
        "topology.cinder.csi.openstack.org/zone",
        "topology.disk.csi.azure.com/zone",
        "topology.ebs.csi.aws.com/zone",
        "topology.gke.io/zone",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_EBS_SCHEME: Final = "aws://"
_EBS: Final = re.compile(rf"(?:{_EBS_SCHEME}([^/]*)/)?vol-([^/?#]*)")
_GCE_PREFIX: Final = "projects/UNSPECIFIED/"


class Words:
    """`compared` are the label keys whose values are compared as numbers somewhere (Gt, Lt): for
    these, numbers stay. `selected` are the texts in selectors of devices."""

    def __init__(
        self,
        key: bytes,
        *,
        keep_labels: Iterable[str] = (),
        keep_namespaces: Iterable[str] = (),
        compared: Iterable[str] = (),
        selected: Iterable[str] = (),
    ) -> None:
        self._key = key
        self._labels = LABELS_KEPT | frozenset(keep_labels)
        self._kept = NAMESPACES_KEPT | frozenset(keep_namespaces)
        self._compared = frozenset(compared)
        self._selected = frozenset(selected)
        self._replaced: dict[str, str] = {}

    def name(self, word: str) -> str:
        """An empty name stays empty, because it means that there is no name."""
        if not word or word in self._kept:
            return word
        known = self._replaced.get(word)
        if known is None:
            known = self._replaced[word] = PREFIX + self._hash(word)
        return known

    def uid(self, uid: str) -> str:
        """A uid that is made of namespace and name stays one."""
        return "/".join(map(self.name, uid.split("/")))

    def label(self, key: str, value: str) -> str:
        return value if self._stays(key, value) else self.name(value)

    def asked(self, key: str, value: str) -> str:
        """The value of a label in a selector. A value that makes the selector invalid still
        does."""
        if self._stays(key, value) or not value or _LABEL_VALUE.fullmatch(value):
            return self.label(key, value)
        return "-" + self.name(value)

    def attribute(self, value: str) -> str:
        """The text of a device's attribute stays if a selector has it, or a part of it."""
        is_selected = any(part in value for part in self._selected)
        return value if is_selected else self.name(value)

    def image(self, reference: str) -> str:
        """A name without a tag means `:latest`, as ImageLocality reads it."""
        if not reference:
            return reference
        untagged = reference.rfind(":") <= reference.rfind("/")
        return self.name(f"{reference}:latest" if untagged else reference) + ":redacted"

    def volume(self, handle: str) -> str:
        """A disk's name, in the forms that differ when in-tree volumes become CSI ones."""
        ebs = _EBS.fullmatch(handle)
        if ebs is not None:
            disk = f"vol-{self.name(ebs[2])}"
            return disk if ebs[1] is None else f"{_EBS_SCHEME}{self.name(ebs[1])}/{disk}"
        if handle.startswith(_EBS_SCHEME):  # an invalid value stays invalid
            return _EBS_SCHEME + self.name(handle.removeprefix(_EBS_SCHEME))
        if handle.startswith(_GCE_PREFIX):
            start, _, disk = handle.rpartition("/")
            return f"{start}/{self.name(disk)}"
        return self.name(handle)

    def replaced(self) -> dict[str, str]:
        """All replaced words with their replacements. This is as secret as the key."""
        return dict(self._replaced)

    def _stays(self, key: str, value: str) -> bool:
        is_number = key in self._compared and _INTEGER.fullmatch(value) is not None
        return key in self._labels or is_number

    def _hash(self, word: str) -> str:
        digest = hmac.new(self._key, word.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return base64.b32encode(digest.digest()[:_HASH_BYTES]).decode().lower()


@dataclass(frozen=True, slots=True)
class Place:
    """`namespace` is that of the object at hand; `claims` are names of claims that the API makes
    of a pod's and a volume's, by namespace."""

    words: Words
    namespace: str
    claims: Mapping[tuple[str, str], str]

    def claim(self, namespace: str, name: str) -> str:
        return self.claims.get((namespace, name)) or self.words.name(name)


Rule: TypeAlias = Callable[[Place, Any], Any]


class _Dropped:
    """Not `None`, which is a value."""


DROPPED: Final = _Dropped()


def kept(_: Place, value: Any) -> Any:
    """Keeps numbers, quantities and words of the API."""
    return DROPPED if isinstance(value, dict | list) else value


def flag(_: Place, value: Any) -> Any:
    """Keeps only the information that the field exists."""
    return None if value is None else {}


def text(change: Callable[[Place, str], str]) -> Rule:
    """Replaces a text. A value that is not a text reveals nothing, and stays, so that the mistake
    stays."""

    def rule(place: Place, value: Any) -> Any:
        return change(place, value) if isinstance(value, str) else kept(place, value)

    return rule


name: Final = text(lambda place, value: place.words.name(value))
uid: Final = text(lambda place, value: place.words.uid(value))
image: Final = text(lambda place, value: place.words.image(value))
volume: Final = text(lambda place, value: place.words.volume(value))
claim: Final = text(lambda place, value: place.claim(place.namespace, value))


def word_of(*known: str) -> Rule:
    """Keeps a word of the API, and replaces any other text."""
    return text(lambda place, value: value if value in known else place.words.name(value))


def list_of(rule: Rule) -> Rule:
    def of_list(place: Place, value: Any) -> Any:
        if not isinstance(value, list):
            return kept(place, value)
        return [made for item in value if (made := rule(place, item)) is not DROPPED]

    return of_list


def fields(**rules: Rule) -> Rule:
    """An object's fields, by their names in the API."""
    return members(rules)


def members(rules: Mapping[str, Rule]) -> Rule:
    def of_object(place: Place, value: Any) -> Any:
        if not isinstance(value, dict):
            return kept(place, value)
        return {
            field: changed
            for field, rule in rules.items()
            if field in value and (changed := rule(place, value[field])) is not DROPPED
        }

    return of_object


def entries(rule: Callable[[Place, str, str], str]) -> Rule:
    """A map of texts, whose keys stay."""

    def of_map(place: Place, value: Any) -> Any:
        if not isinstance(value, dict):
            return kept(place, value)
        return {
            key: rule(place, key, item) if isinstance(item, str) else kept(place, item)
            for key, item in value.items()
            if not isinstance(item, dict | list)
        }

    return of_map


labels: Final = entries(lambda place, key, value: place.words.label(key, value))
asked_labels: Final = entries(lambda place, key, value: place.words.asked(key, value))
amounts: Final = entries(lambda _place, _key, value: value)


def requirement(change: Callable[[Place, str, str], str]) -> Rule:
    """`{key, operator, values}`; the key says what becomes of the values."""

    def of_requirement(place: Place, value: Any) -> Any:
        if not isinstance(value, dict):
            return kept(place, value)
        key = value.get("key")
        made = members({"key": kept, "operator": kept})(place, value)
        if "values" in value:
            change_one = text(
                lambda at, item: change(at, key if isinstance(key, str) else "", item)
            )
            made["values"] = list_of(change_one)(place, value["values"])
        return made

    return of_requirement


asked: Final = requirement(lambda place, key, value: place.words.asked(key, value))
# `matchFields` reads names, which need not be valid label values.
named: Final = requirement(lambda place, _key, value: place.words.name(value))
located: Final = requirement(lambda place, key, value: place.words.label(key, value))
selector: Final = fields(matchLabels=asked_labels, matchExpressions=list_of(asked))
node_term: Final = fields(matchExpressions=list_of(asked), matchFields=list_of(named))
node_selector: Final = fields(nodeSelectorTerms=list_of(node_term))


def taint(place: Place, value: Any) -> Any:
    """A taint or a toleration. As with a label, the key decides what happens to the value."""
    made = members({"key": kept, "operator": kept, "effect": kept})(place, value)
    if isinstance(value, dict) and "value" in value:
        key = value.get("key")
        of_key = key if isinstance(key, str) else ""
        made["value"] = text(lambda at, item: at.words.label(of_key, item))(place, value["value"])
    return made
