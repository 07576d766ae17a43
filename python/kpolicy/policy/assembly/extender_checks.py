"""Findings about extenders: addresses and verbs, what kube-scheduler checks, and what the process
does not allow.

Addresses and verbs are checked for every policy, so that a request goes to the place that is
written and to no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity, did_you_mean
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import Resolution
from kpolicy.policy.authority import Authority, host_of, is_path, without_empty_segments
from kpolicy.policy.models.scheduling_policy import Extender
from kpolicy.policy.yaml.nodes import Path

_QUALIFIED: Final = (
    r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z"
)
_FILES: Final = ("caFile", "certFile", "keyFile")


def check_extenders(policies: Iterable[Policy], resolution: Resolution) -> Iterator[Diagnostic]:
    """Checks extenders as kube-scheduler does, and their addresses. A profile has one binder, and
    each of its resources one extender; another profile may have the same extender, or others."""
    for policy, path, extender in _extenders(policies):
        yield from _address(policy, path, extender)
        for number, resource in enumerate(extender.managed_resources):
            if not _is_extended(resource.name):
                yield policy.remark(
                    "KP113",
                    f"`{resource.name}` is not the name of an extended resource",
                    (*path, "managedResources", number, "name"),
                )
    for served in resolution.profiles.values():
        yield from _shared_work(policy.effective.policy for policy in served)


def _shared_work(policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """What several extenders of one profile would do."""
    has_binder = False
    managed: set[str] = set()
    for policy, path, extender in _extenders(policies):
        if extender.bind_verb and has_binder:
            yield policy.remark("KP113", "only one extender can bind", (*path, "bindVerb"))
        has_binder = has_binder or bool(extender.bind_verb)
        for number, resource in enumerate(extender.managed_resources):
            at = (*path, "managedResources", number, "name")
            if resource.name in managed:
                yield policy.remark("KP104", f"two extenders manage `{resource.name}`", at)
            managed.add(resource.name)


def _extenders(policies: Iterable[Policy]) -> Iterator[tuple[Policy, Path, Extender]]:
    for policy in policies:
        for index, extender in enumerate(policy.model.spec.extenders):
            yield policy, ("spec", "extenders", index), extender


def _is_extended(name: str) -> bool:
    is_native = f".{name.partition('/')[0]}".endswith(".kubernetes.io")
    return re.match(_QUALIFIED, name) is not None and not is_native


def _address(policy: Policy, path: Path, extender: Extender) -> Iterator[Diagnostic]:
    if not host_of(extender.url_prefix):
        # kube-scheduler loads an address without a host too, and reaches no one. So does what
        # `convert` writes of it.
        is_harmless = "://" not in extender.url_prefix
        yield policy.remark(
            "KP134",
            f"`{extender.url_prefix}` is not the address of an extender",
            (*path, "urlPrefix"),
            hint="http:// or https://, a host, a port and a path, without `..`, user or query",
            severity=Severity.WARNING if is_harmless else None,
        )
    for key, verb in (
        ("filterVerb", extender.filter_verb),
        ("prioritizeVerb", extender.prioritize_verb),
        ("preemptVerb", extender.preempt_verb),
        ("bindVerb", extender.bind_verb),
    ):
        if not verb or is_path(verb):
            continue
        # kube-scheduler sends `//filter` for the verb `/filter`. That leads nowhere else.
        plain = without_empty_segments(verb)
        is_harmless = is_path(plain)
        yield policy.remark(
            "KP134",
            f"the verb `{verb}` is not a path",
            (*path, key),
            hint=f"write `{plain}`" if is_path(plain) else "write a name, such as `filter`",
            severity=Severity.WARNING if is_harmless else None,
        )


def check_authority(
    policies: Sequence[Policy], extended: Iterable[Policy], authority: Authority
) -> list[Diagnostic]:
    """What the policies want that the process does not allow. `extended`: further policies that
    they extend, whose extenders they inherit."""
    return [
        *chain.from_iterable(_served(policy, authority) for policy in policies),
        *chain.from_iterable(
            _beyond(policy, path, extender, authority)
            for policy, path, extender in _extenders((*policies, *extended))
        ),
    ]


def _served(policy: Policy, authority: Authority) -> Iterator[Diagnostic]:
    allowed = authority.scheduler_names
    for index, profile in enumerate(policy.model.spec.profiles):
        name = profile.scheduler_name
        if allowed is None or authority.may_serve(name):
            continue
        listed = ", ".join(f"`{other}`" for other in sorted(allowed))
        hint = f"--scheduler-names allows {listed or 'none'}"
        near = did_you_mean(name, allowed)
        yield policy.remark(
            "KP131",
            f"this policy may not serve the pods of `{name}`",
            ("spec", "profiles", index, "schedulerName"),
            hint=f"{hint}; {near}" if near else hint,
        )


def _beyond(
    policy: Policy, path: Path, extender: Extender, authority: Authority
) -> Iterator[Diagnostic]:
    host = host_of(extender.url_prefix)
    if authority.extender_hosts is not None and not authority.may_ask(host):
        listed = ", ".join(sorted(authority.extender_hosts))
        yield policy.remark(
            "KP132",
            f"this policy may not ask an extender at {host or extender.url_prefix}",
            (*path, "urlPrefix"),
            hint=f"--extender-hosts allows {listed}"
            if listed
            else "no extenders are allowed here; --extender-hosts lists those that are",
        )
    settings = extender.tls_config
    if settings is None:
        return
    for key, file in zip(
        _FILES, (settings.ca_file, settings.cert_file, settings.key_file), strict=True
    ):
        if file and not authority.may_read(file):
            folder = authority.certificate_folder
            yield policy.remark(
                "KP133",
                f"this policy may not name the file {file}",
                (*path, "tlsConfig", key),
                hint=f"--certificate-folder allows files in {folder}, by absolute paths"
                if folder
                else "no files are allowed here: write the certificate itself, in "
                f"`{key.removesuffix('File')}Data`, or set --certificate-folder",
            )
