"""The JSON Schema of what verbs print with `--output json`: one document, with `version` and
`kind`. With `--output jsonl`, the items of the document's list are printed, each on a line; a
summary is a line of its own.
"""

from __future__ import annotations

from typing import Any, Final

from kpolicy.version import DOCUMENT_VERSION


def _text(about: str) -> dict[str, Any]:
    return {"type": "string", "description": about}


def _whole(about: str) -> dict[str, Any]:
    return {"type": "integer", "description": about}


def _number(about: str) -> dict[str, Any]:
    return {"type": "number", "description": about}


def _any_object(about: str) -> dict[str, Any]:
    return {"type": "object", "description": about}


def _object(required: dict[str, Any], about: str = "", **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        **({"description": about} if about else {}),
        "required": list(required),
        "properties": {**required, **optional},
    }


def _list(of: dict[str, Any], about: str) -> dict[str, Any]:
    return {"type": "array", "items": of, "description": about}


_POD: Final = _text("The pod, as NAMESPACE/NAME.")
_FINDING: Final = _object(
    {
        "code": _text("The code of the finding, which `kpolicy rule` explains."),
        "level": {"enum": ["error", "warning", "info"], "description": "How severe it is."},
        "message": _text("What was found."),
        "hint": _text("What to do; empty if kpolicy knows nothing."),
        "file": _text("The file."),
        "line": _whole("The line where it begins, from 1."),
        "column": _whole("The column where it begins, from 1."),
        "endLine": _whole("The line where it ends."),
        "endColumn": _whole("The column after its end."),
    },
    field=_text("The path of the field."),
)
_EXPLANATION: Final = _object(
    {"pod": _POD},
    nodes=_list(
        _object({"name": _text("The name of the node.")}), "The nodes, with verdicts and scores."
    ),
    best=_list({"type": "string"}, "The nodes that share the highest total."),
    advice=_any_object("With --advice, what would place the pod, as of `why`."),
    time=_text("The time of the decision."),
    keptBackBy=_list({"type": "string"}, "The rules because of which no new node would help."),
)
_DECISION: Final = _object(
    {"pod": _POD},
    node=_text("The node that the pod gets; absent if none."),
    message=_text("Why it gets none."),
    victims=_list({"type": "string"}, "The pods that are evicted for it."),
)
_MEASURED: Final = _object(
    {
        "workload": _text("What was measured."),
        "nodes": _whole("How many nodes there are."),
        "existing": _whole("How many pods are on nodes before."),
        "pods": _whole("How many pods were decided."),
        "scheduled": _whole("How many of them got a node."),
        "seconds": _number("How long it took."),
        "podsPerSecond": _number("Decisions in a second."),
        "p50us": _number("The time of a decision in the middle, in microseconds."),
        "p99us": _number("The time that 99 of 100 decisions take at most, in microseconds."),
    }
)
_SUITE: Final = _object(
    {
        "file": _text("The file of the tests."),
        "name": _text("The name of the document."),
        "tests": _list(
            _object({"name": _text("The name of the test.")}),
            "The tests, with what became of them.",
        ),
    }
)
_CODE: Final = _object(
    {
        "code": _text("The code."),
        "level": _text("How severe its findings are."),
        "title": _text("What it means, in a few words."),
    },
    why=_text("What it means, at length."),
    bad=_text("An example that has the finding."),
    good=_text("The same example without the finding."),
)
_ENTRY: Final = _object(
    {
        "name": _text("The name, as it is written in a policy."),
        "kind": _text("What it is: a fact, a function, a macro, a built-in, a legacy name."),
        "meaning": _text("What it does, in one sentence."),
        "example": _text("An expression, or a part of a policy."),
    },
    forms=_list({"type": "string"}, "How it is called, with types."),
    cost=_whole("The most that the example may cost on one node, in units."),
    charged=_text("What evaluating it takes."),
    known=_text("When its value is known: for a pod, a node, a class of nodes or a domain."),
    wakes=_list({"type": "string"}, "What tries a pod again that was rejected by it."),
    arguments=_list(
        _object(
            {
                "name": _text("The path of the argument."),
                "type": _text("Its type."),
                "meaning": _text("What it means."),
            },
            default={"description": "Its value if the policy does not give one."},
        ),
        "The arguments of a built-in.",
    ),
    releases=_text("In which releases of kube-scheduler it is."),
    weight=_whole("Its weight in kube-scheduler's default profile."),
)
_OF: Final = {"enum": ["pod", "node", "policy"], "description": "What is to be changed."}
_KIND_OF_CHANGE: Final = _text(
    "The sorts of changes, joined by +: request, toleration, nodeSelector, nodeAffinity, "
    "topologySpread, podAffinity, podAntiAffinity, podLabel; taint, cordon, nodeLabel, room; rule, "
    "constant."
)
_SUGGESTION: Final = _object(
    {
        "of": _OF,
        "kind": _KIND_OF_CHANGE,
        "size": _whole("How many changes it has."),
        "changes": _list(
            _object(
                {"change": _text("The sort of the change; the other fields say how to make it.")}
            ),
            "All are needed, and are enough.",
        ),
        "node": _text("Where the pod would be placed."),
    }
)
_RUNNER_UP: Final = _object(
    {
        "node": _text("The other node."),
        "total": _whole("Its score."),
        "by": _whole("How far it is behind; less than 0 if it is ahead."),
        "rules": _list(
            _object(
                {
                    "rule": _text("The rule."),
                    "here": _whole("Its weighted score of the pod's node."),
                    "there": _whole("That of the other node."),
                    "by": _whole("The difference."),
                }
            ),
            "The fewest rules without which it would not be so.",
        ),
    }
)
_NEAREST: Final = _object(
    {
        "node": _text("The node."),
        "rules": _list(
            _object(
                {
                    "rule": _text("The rule."),
                    "reasons": _list({"type": "string"}, "In its own words."),
                }
            ),
            "Every rule that rejects it.",
        ),
    },
    short=_list(
        _object(
            {
                "resource": _text("The resource."),
                "asked": _text("What the pod asks for."),
                "free": _text("What the node has free."),
            }
        ),
        "The resources that are short.",
    ),
)
_ADVICE_REQUIRED: Final = {
    "situation": {
        "enum": ["fitsNowhere", "fits", "placed", "held", "noNodes", "setAside"],
        "description": "What is so with the pod.",
    },
    "nodes": _whole("How many nodes there are."),
}
_ADVICE_OPTIONAL: Final = {
    "nearest": _list(_NEAREST, "The nodes nearest to taking the pod, the nearest first."),
    "rejectedBy": _any_object("How many nodes each rule rejects; of a placed pod, what would now."),
    "suggestions": _list(_SUGGESTION, "What would place the pod, the smallest first."),
    "decisions": _whole("How many decisions the search took."),
    "isComplete": {"type": "boolean", "description": "Whether the search came to its end."},
    "heldBy": _object(
        {"rule": _text("What keeps the pod from being tried."), "reason": _text("Why.")}
    ),
    "message": _text("Why no node is looked at."),
    "node": {"type": ["string", "null"], "description": "Where the pod is, or would be placed."},
    "feasible": _whole("How many nodes would take it."),
    "total": _whole("The score of its node."),
    "runnersUp": _list(_RUNNER_UP, "The best other nodes."),
}


def _advice(about: str, **required: Any) -> dict[str, Any]:
    made = _object(required | _ADVICE_REQUIRED, about)
    made["properties"] |= _ADVICE_OPTIONAL
    return made


_ADVICE: Final = _advice("What would place the pod.")
_ADVICE_ON_PODS: Final = _advice(
    "What would place these pods.", pods=_list({"type": "string"}, "Pods alike.")
)
# By kind: the fields beside `version` and `kind`.
_KINDS: Final = {
    "lint": _object({"findings": _list(_FINDING, "What lint found.")}),
    "test": _object(
        {
            "passed": _whole("How many tests passed."),
            "failed": _whole("How many tests failed."),
            "leftOut": _whole("How many tests were not run."),
            "fine": {"type": "boolean", "description": "Whether all is as it must be."},
            "findings": _list(_any_object("A finding, as of lint."), "What is wrong with files."),
            "suites": _list(_SUITE, "The documents with their tests."),
            "coverage": _list(
                _any_object("A policy with what tests reached."), "What tests reached."
            ),
        }
    ),
    "eval": _object(
        {},
        value={"description": "The value; absent if there is an error."},
        error=_object(
            {"code": _text("The code of the error."), "message": _text("What went wrong.")},
            "The error; absent if there is a value.",
        ),
    ),
    "explain": _object({"explanations": _list(_EXPLANATION, "A pod each.")}),
    "why": _object(
        {
            "pod": _POD,
            "situation": _text("What is so with the pod, in a few words."),
            "rejectedBy": _any_object("How many nodes each rule rejects."),
            "explanation": _any_object("The decision, as of `explain`."),
        },
        node=_text("The node that the pod is on."),
        advice=_ADVICE,
        condition=_text("The message of the pod's condition `PodScheduled`."),
    ),
    "why-all": _object(
        {
            "namespace": _text("The namespace."),
            "pods": _whole("How many pods there are."),
            "pending": _whole("How many of them are pending."),
            "situations": _any_object("How many pending pods are in each situation."),
            "rejectedBy": _any_object("How many pending pods each rule keeps from some node."),
            "suggestions": _list(
                _object(
                    {
                        "of": _OF,
                        "kind": _KIND_OF_CHANGE,
                        "pods": _whole("How many pods it would place, each by itself."),
                    }
                ),
                "Kinds of suggestions.",
            ),
            "leftOut": _whole("How many pods have no advice, as there are too many kinds of pods."),
            "advice": _list(_ADVICE_ON_PODS, "The advice, one for pods alike."),
        },
        group=_text("The group, if one was named."),
    ),
    "simulate": _object(
        {"pods": _list(_DECISION, "The decisions, in order."), "summary": _any_object("Sums.")}
    ),
    "diff": _object(
        {
            "differences": _list(_object({"pod": _POD}), "The pods that are decided otherwise."),
            "summary": _any_object("Sums."),
        }
    ),
    "replay": _object(
        {
            "differences": _list(
                _object({"time": _text("When it was decided."), "pod": _POD}),
                "The decisions that are other ones: with a policy, all; otherwise the first of "
                "each epoch.",
            ),
            "summary": _any_object("Sums."),
        },
        epochs=_list(
            _object({"run": _text("The process that decided."), "epoch": _whole("Its epoch.")}),
            "The epochs, with what became of each.",
        ),
        workloads=_any_object("With a policy, how many pods of each workload differ."),
    ),
    "bench": _object({"measured": _list(_MEASURED, "A workload each.")}),
    "rule": _object(
        {"codes": _list(_CODE, "Codes of findings.")},
        entries=_list(_ENTRY, "Rules, facts, functions and macros."),
    ),
    "explain-field": _object(
        {
            "document": _text("The kind of the document."),
            "field": _text("The path of the field; empty for the document."),
            "type": _text("Its type."),
            "meaning": _text("What it means."),
            "fields": _list(
                _object(
                    {
                        "name": _text("The name of the field."),
                        "type": _text("Its type."),
                        "meaning": _text("What it means."),
                    },
                    default={"description": "Its value if it is not written."},
                ),
                "The fields in it.",
            ),
        },
        default={"description": "Its value if it is not written."},
    ),
    "policies": _object(
        {
            "policies": _list(
                _object(
                    {"name": _text("The name of the policy."), "about": _text("What it is for.")}
                ),
                "The policies that come with kpolicy.",
            )
        }
    ),
    "snapshot": _object(
        {
            "bytes": _whole("The size of the file."),
            "kinds": _any_object("How many objects there are, by kind."),
            "nodes": _any_object("Sums over nodes."),
            "pods": _any_object("Sums over pods."),
            "resources": _any_object("What there is and what is requested, by resource."),
            "problems": _list(
                _object({"code": _text("The code."), "message": _text("What is wrong.")}),
                "What could not be read.",
            ),
        }
    ),
    "version": _object({"kpolicy": _text("The version.")}),
}


def output_schema() -> dict[str, Any]:
    documents = []
    for kind, fields in _KINDS.items():
        own = {
            "version": {"const": DOCUMENT_VERSION, "description": "The version of the format."},
            "kind": {"const": kind, "description": "The verb."},
        }
        documents.append(
            {
                "title": f"kpolicy {kind} --output json",
                "type": "object",
                "required": [*own, *fields["required"]],
                "properties": {**own, **fields["properties"]},
            }
        )
    return {"title": "Output", "oneOf": documents}
