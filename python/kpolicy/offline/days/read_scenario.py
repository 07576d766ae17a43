"""Scenarios read from sources, what is wrong with them, and scenarios with other values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Span, did_you_mean, has_errors
from kpolicy.offline.days.scenario_checks import Problem, problems_of
from kpolicy.offline.days.scenario_model import KIND, Scenario
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.document_kinds import is_of_kind, none_of_kind
from kpolicy.policy.models.validation import validated
from kpolicy.policy.yaml.nodes import Node, dotted, find, key_at, made, plain
from kpolicy.policy.yaml.source import Source, SourceText, placed
from kpolicy.policy.yaml.tree_reader import read_documents

_NOWHERE: Final = Span(0, 0)


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A document, and the folder that its paths are relative to."""

    text: SourceText
    tree: Node
    model: Scenario
    folder: File

    def finding(self, problem: Problem) -> Diagnostic:
        path = problem.path
        while path and find(self.tree, path) is None:
            path = path[:-1]
        node = (find(self.tree, path) if path else key_at(self.tree, ("kind",))) or self.tree
        field = dotted(problem.path)
        found = remark(problem.code, problem.message, node.span, hint=problem.hint, field=field)
        return placed(self.text, found)


@dataclass(frozen=True, slots=True)
class ReadScenario:
    """`file` is None if there are errors."""

    file: ScenarioFile | None
    diagnostics: tuple[Diagnostic, ...]


def read_scenario(source: Source) -> ReadScenario:
    """The one Scenario of a source."""
    read = read_documents(source)
    findings = [placed(read.text, finding) for finding in read.diagnostics]
    roots = [root for root in read.roots if is_of_kind(root, KIND)]
    if not roots:
        if not has_errors(read.diagnostics):
            findings.append(placed(read.text, none_of_kind(read.roots, KIND)))
        return ReadScenario(None, tuple(findings))
    if len(roots) > 1:
        message = f"there are {len(roots)} scenarios in this file"
        findings.append(placed(read.text, remark("KP510", message, roots[1].span)))
    model, tree, problems = validated(Scenario, roots[0])
    findings += [placed(read.text, finding) for finding in problems]
    if model is None:
        return ReadScenario(None, tuple(findings))
    file = ScenarioFile(read.text, tree, model, File(source.name).parent)
    if not has_errors(findings):
        findings += map(file.finding, problems_of(model))
    return ReadScenario(None if has_errors(findings) else file, tuple(findings))


def with_values(file: ScenarioFile, values: Mapping[str, str]) -> Scenario | Diagnostic:
    """The scenario with other values at these paths, such as `nodes.worker.count`."""
    document = plain(file.tree)
    for path, written in values.items():
        wrong = _put(document, path.split("."), written)
        if wrong is not None:
            message, hint = wrong
            return remark("KP510", f"{path}={written}: {message}", hint=hint)
    model, _, findings = validated(Scenario, made(document, _NOWHERE))
    if model is not None and not findings:
        problem = next(problems_of(model), None)
        if problem is None:
            return model
        findings = (remark(problem.code, problem.message, hint=problem.hint),)
    listed = " ".join(f"{path}={written}" for path, written in values.items())
    return replace(findings[0], message=f"{listed}: {findings[0].message}", span=None)


def _put(holder: Any, parts: Sequence[str], written: str) -> tuple[str, str] | None:
    """A message and a hint if there is no such place."""
    for position, part in enumerate(parts):
        is_last = position == len(parts) - 1
        if isinstance(holder, list):
            place = _place(holder, part)
            if place is None:
                listed = [_named(item) for item in holder]
                hint = did_you_mean(part, listed) or f"one of {', '.join(filter(None, listed))}"
                return f"there is no `{part}`", hint
            if is_last:
                holder[place] = _value(written)
            holder = holder[place]
        elif not isinstance(holder, dict):
            return f"`{parts[position - 1]}` has no fields", ""
        elif is_last:
            holder[part] = _value(written)
        elif part not in holder:
            hint = did_you_mean(part, holder) or f"there are {', '.join(holder)}"
            return f"the scenario has no `{part}`", hint
        else:
            holder = holder[part]
    return None


def _place(items: Sequence[Any], part: str) -> int | None:
    """By the name of an item, or by its number from 0."""
    for place, item in enumerate(items):
        if _named(item) == part:
            return place
    return int(part) if part.isdecimal() and int(part) < len(items) else None


def _named(item: Any) -> str:
    return str(item.get("name") or item.get("pods") or "") if isinstance(item, dict) else ""


def _value(written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return written
