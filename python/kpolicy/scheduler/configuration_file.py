"""`SchedulerConfiguration`: the file that `kpolicy run --config` reads.

A key is a flag's name in camelCase. Mistakes are diagnostics, as in policies: code, place, hint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.models.scheduling_policy import API_VERSION
from kpolicy.policy.models.validation import Edge, NonEmpty, refuse, validated
from kpolicy.policy.yaml.nodes import Mapping, Node, Scalar, key_at, string
from kpolicy.policy.yaml.source import Source, SourceText, placed
from kpolicy.policy.yaml.tree_reader import read_documents
from kpolicy.scheduler.options import config_map_name
from kpolicy.scheduler.problem_codes import Problem
from kpolicy.telemetry.limits import TRACES_PER_SECOND_MAX

KIND: Final = "SchedulerConfiguration"
# For `policyStatus`: write no status, keep no last good policy.
NO_STATUS: Final = "none"


def _config_map(written: str) -> str:
    name = config_map_name(written, "default", "")
    if isinstance(name, Problem) and written != NO_STATUS:
        refuse("KP113", f"`{written}` names no ConfigMap", hint=name.hint)
    return written


ConfigMapText = Annotated[str, AfterValidator(_config_map)]


class SchedulerConfiguration(Edge):
    """Everything that `kpolicy run` can be told, by file."""

    api_version: Literal["kpolicy.dev/v1alpha1"]
    kind: Literal["SchedulerConfiguration"]
    policy: list[NonEmpty] | None = Field(None, description="Files and folders of policies.")
    policy_configmap: ConfigMapText | None = Field(None, description="NAMESPACE/NAME, or with #KEY")
    policy_status: ConfigMapText | None = Field(None, description="NAMESPACE/NAME, or `none`")
    policy_cache: NonEmpty | None = Field(None, description="A folder.")
    shadow_policy: list[NonEmpty] | None = None
    shadow_policy_configmap: ConfigMapText | None = None
    params: dict[str, Any] | None = Field(None, description="Values of params, by name.")
    kubeconfig: NonEmpty | None = None
    context: NonEmpty | None = None
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)] | None = None
    once: bool | None = None
    bind_address: NonEmpty | None = None
    port: Annotated[int, Field(ge=0, le=65535)] | None = None
    tls_cert_file: NonEmpty | None = None
    tls_private_key_file: NonEmpty | None = None
    auth: Literal["none", "token", "delegated"] | None = None
    auth_token_file: NonEmpty | None = None
    leader_elect: bool | None = None
    lease_namespace: NonEmpty | None = None
    lease_name: NonEmpty | None = None
    log_format: Literal["auto", "json", "text"] | None = None
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    traces_per_second: Annotated[int, Field(ge=0, le=TRACES_PER_SECOND_MAX)] | None = None
    kept_traces_per_second: Annotated[int, Field(ge=0, le=TRACES_PER_SECOND_MAX)] | None = None


@dataclass(frozen=True, slots=True)
class ReadConfigurations:
    """`others` are the sources that hold something besides, or nothing of this kind."""

    configurations: tuple[SchedulerConfiguration, ...]
    diagnostics: tuple[Diagnostic, ...]
    texts: tuple[SourceText, ...]
    others: tuple[Source, ...]


def read_configurations(sources: Sequence[Source]) -> ReadConfigurations:
    """Every SchedulerConfiguration of the sources; other documents are passed over."""
    models: list[SchedulerConfiguration] = []
    diagnostics: list[Diagnostic] = []
    texts: list[SourceText] = []
    others: list[Source] = []
    for source in sources:
        read = read_documents(source)
        roots = [root for root in read.roots if _is_configuration(root)]
        if not roots or len(roots) < sum(map(_says_something, read.roots)):
            others.append(source)
        if not roots:
            continue
        texts.append(read.text)
        if source not in others:
            diagnostics += [placed(read.text, diagnostic) for diagnostic in read.diagnostics]
        for root in roots:
            model, _, findings = validated(SchedulerConfiguration, root)
            found = [
                placed(read.text, diagnostic) for diagnostic in (*findings, *_contradictions(root))
            ]
            # `lint --fix` mends policies only.
            diagnostics += [
                replace(diagnostic, fix=None) for diagnostic in sorted(found, key=_position)
            ]
            models += [model] if model is not None else []
    return ReadConfigurations(tuple(models), tuple(diagnostics), tuple(texts), tuple(others))


def read_configuration(source: Source) -> tuple[SchedulerConfiguration | None, list[Diagnostic]]:
    """The one of a file that is named as such."""
    read = read_configurations([source])
    diagnostics = list(read.diagnostics)
    if not read.texts:
        documents = read_documents(source)
        diagnostics += [placed(documents.text, diagnostic) for diagnostic in documents.diagnostics]
        span = documents.roots[0].span if documents.roots else Span(0, 0)
        start = Span(span.start, min(span.start + 1, span.end))
        hint = f"start with `apiVersion: {API_VERSION}` and `kind: {KIND}`"
        missing = remark("KP101", f"there is no {KIND} in this file", start, hint=hint)
        diagnostics += [placed(documents.text, missing)] if not diagnostics else []
    if len(read.configurations) > 1:
        first = Span(0, 1)
        message = f"{len(read.configurations)} documents of this kind are in one file"
        diagnostics.append(placed(read.texts[0], remark("KP104", message, first, hint="keep one")))
    return (read.configurations[0] if read.configurations else None), diagnostics


def _is_configuration(root: Node) -> bool:
    return (
        isinstance(root, Mapping)
        and string(root.get("kind")) == KIND
        and string(root.get("apiVersion")).startswith("kpolicy.dev/")
    )


def _position(diagnostic: Diagnostic) -> tuple[int, int]:
    return (
        (diagnostic.place.line, diagnostic.place.column) if diagnostic.place is not None else (0, 0)
    )


def _says_something(root: Node) -> bool:
    return not isinstance(root, Scalar) or root.value is not None


def _contradictions(root: Node) -> list[Diagnostic]:
    diagnostics = []
    for first, second_key in (
        ("policy", "policyConfigmap"),
        ("shadowPolicy", "shadowPolicyConfigmap"),
    ):
        second = key_at(root, (second_key,))
        if key_at(root, (first,)) is not None and second is not None:
            message = f"`{first}` and `{second_key}` are given: policies come from one of them"
            diagnostics.append(
                remark("KP115", message, second.span, hint="leave one out", field=second_key)
            )
    return diagnostics
