"""The certificates of extenders in files of kube-scheduler: with `enableHTTPS` and no certificate
authority, any certificate is accepted. The SchedulingPolicy that such a file stands for says so.
"""

from __future__ import annotations

from typing import Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, find, made, string

_TLS: Final = "tlsConfig"


def as_kube_scheduler(extenders: Node | None) -> tuple[Node | None, list[Diagnostic]]:
    """The extenders with `insecure` where kube-scheduler verifies nothing, and the findings."""
    if not isinstance(extenders, Sequence):
        return extenders, []
    findings: list[Diagnostic] = []
    listed = tuple(_extender(item, findings) for item in extenders.items)
    return Sequence(extenders.span, listed), findings


def _extender(node: Node, findings: list[Diagnostic]) -> Node:
    https = find(node, ("enableHTTPS",))
    if not isinstance(node, Mapping) or not isinstance(https, Scalar) or https.value is not True:
        return node
    tls = node.get(_TLS)
    is_verified = any(string(find(tls, (key,))) for key in ("caFile", "caData"))
    if is_verified or _is_true(tls) or not string(node.get("urlPrefix")).startswith("https:"):
        return node
    findings.append(
        remark(
            "KP607",
            "any certificate of this extender is accepted, as in kube-scheduler",
            https.span,
            hint="name its authority in `tlsConfig.caFile`; in a SchedulingPolicy, those of the "
            "system count unless `insecure` is true",
        )
    )
    kept = tls.entries if isinstance(tls, Mapping) else ()
    insecure = Entry(Scalar(https.span, "insecure", "insecure"), made(True, https.span))
    settings = Mapping(
        tls.span if isinstance(tls, Mapping) else https.span,
        (*(entry for entry in kept if entry.key.text != "insecure"), insecure),
    )
    entries = (entry for entry in node.entries if entry.key.text != _TLS)
    key = Scalar(https.span, _TLS, _TLS)
    return Mapping(node.span, (*entries, Entry(key, settings)))


def _is_true(tls: Node | None) -> bool:
    stated = find(tls, ("insecure",))
    return isinstance(stated, Scalar) and stated.value is True
