"""The JSON Schema of what verbs print with `--output json`: one document, with `version` and
`kind`. With `--output jsonl`, the items of the document's list are printed, each on a line; a
summary is a line of its own.
"""

from __future__ import annotations

from typing import Any, Final

from kpolicy.cli.advice_schema import ADVICE_SCHEMA, WHY_ALL_SCHEMA
from kpolicy.cli.days_schema import DAYS_SCHEMA, SWEEP_SCHEMA
from kpolicy.cli.plan_schema import PLAN_SCHEMA
from kpolicy.cli.schema_parts import (
    any_object,
    list_of,
    number_of,
    object_of,
    text_of,
    whole_number_of,
)
from kpolicy.version import DOCUMENT_VERSION

_POD: Final = text_of("The pod, as NAMESPACE/NAME.")
_FINDING: Final = object_of(
    {
        "code": text_of("The code of the finding, which `kpolicy rule` explains."),
        "level": {"enum": ["error", "warning", "info"], "description": "How severe it is."},
        "message": text_of("What was found."),
        "hint": text_of("What to do; empty if kpolicy knows nothing."),
        "file": text_of("The file."),
        "line": whole_number_of("The line where it begins, from 1."),
        "column": whole_number_of("The column where it begins, from 1."),
        "endLine": whole_number_of("The line where it ends."),
        "endColumn": whole_number_of("The column after its end."),
    },
    field=text_of("The path of the field."),
)
_EXPLANATION: Final = object_of(
    {"pod": _POD},
    nodes=list_of(
        object_of({"name": text_of("The name of the node.")}),
        "The nodes, with verdicts and scores.",
    ),
    best=list_of({"type": "string"}, "The nodes that share the highest total."),
    advice=any_object("With --advice, what would place the pod, as of `why`."),
    time=text_of("The time of the decision."),
    keptBackBy=list_of({"type": "string"}, "The rules because of which no new node would help."),
)
_DECISION: Final = object_of(
    {"pod": _POD},
    node=text_of("The node that the pod gets; absent if none."),
    message=text_of("Why it gets none."),
    victims=list_of({"type": "string"}, "The pods that are evicted for it."),
    annotations=any_object("What the bind writes into the pod, such as which GPUs it has."),
)
_MEASURED: Final = object_of(
    {
        "workload": text_of("What was measured."),
        "nodes": whole_number_of("How many nodes there are."),
        "existing": whole_number_of("How many pods are on nodes before."),
        "pods": whole_number_of("How many pods were decided."),
        "scheduled": whole_number_of("How many of them got a node."),
        "seconds": number_of("How long it took."),
        "podsPerSecond": number_of("Decisions in a second."),
        "p50us": number_of("The time of a decision in the middle, in microseconds."),
        "p99us": number_of("The time that 99 of 100 decisions take at most, in microseconds."),
    }
)
_SUITE: Final = object_of(
    {
        "file": text_of("The file of the tests."),
        "name": text_of("The name of the document."),
        "tests": list_of(
            object_of({"name": text_of("The name of the test.")}),
            "The tests, with what became of them.",
        ),
    }
)
_CODE: Final = object_of(
    {
        "code": text_of("The code."),
        "level": text_of("How severe its findings are."),
        "title": text_of("What it means, in a few words."),
    },
    why=text_of("What it means, at length."),
    bad=text_of("An example that has the finding."),
    good=text_of("The same example without the finding."),
)
_ENTRY: Final = object_of(
    {
        "name": text_of("The name, as it is written in a policy."),
        "kind": text_of("What it is: a fact, a function, a macro, a built-in, a legacy name."),
        "meaning": text_of("What it does, in one sentence."),
        "example": text_of("An expression, or a part of a policy."),
    },
    forms=list_of({"type": "string"}, "How it is called, with types."),
    cost=whole_number_of("The most that the example may cost on one node, in units."),
    charged=text_of("What evaluating it takes."),
    known=text_of("When its value is known: for a pod, a node, a class of nodes or a domain."),
    wakes=list_of({"type": "string"}, "What tries a pod again that was rejected by it."),
    arguments=list_of(
        object_of(
            {
                "name": text_of("The path of the argument."),
                "type": text_of("Its type."),
                "meaning": text_of("What it means."),
            },
            default={"description": "Its value if the policy does not give one."},
        ),
        "The arguments of a built-in.",
    ),
    releases=text_of("In which releases of kube-scheduler it is."),
    weight=whole_number_of("Its weight in kube-scheduler's default profile."),
)
# By kind: the fields beside `version` and `kind`.
_KINDS: Final = {
    "lint": object_of({"findings": list_of(_FINDING, "What lint found.")}),
    "test": object_of(
        {
            "passed": whole_number_of("How many tests passed."),
            "failed": whole_number_of("How many tests failed."),
            "leftOut": whole_number_of("How many tests were not run."),
            "fine": {"type": "boolean", "description": "Whether all is as it must be."},
            "findings": list_of(any_object("A finding, as of lint."), "What is wrong with files."),
            "suites": list_of(_SUITE, "The documents with their tests."),
            "coverage": list_of(
                any_object("A policy with what tests reached."), "What tests reached."
            ),
        }
    ),
    "eval": object_of(
        {},
        value={"description": "The value; absent if there is an error."},
        error=object_of(
            {"code": text_of("The code of the error."), "message": text_of("What went wrong.")},
            "The error; absent if there is a value.",
        ),
    ),
    "explain": object_of({"explanations": list_of(_EXPLANATION, "A pod each.")}),
    "why": object_of(
        {
            "pod": _POD,
            "situation": text_of("What is so with the pod, in a few words."),
            "rejectedBy": any_object("How many nodes each rule rejects."),
            "explanation": any_object("The decision, as of `explain`."),
        },
        node=text_of("The node that the pod is on."),
        advice=ADVICE_SCHEMA,
        condition=text_of("The message of the pod's condition `PodScheduled`."),
    ),
    "why-all": WHY_ALL_SCHEMA,
    "simulate": object_of(
        {"pods": list_of(_DECISION, "The decisions, in order."), "summary": any_object("Sums.")}
    ),
    "days": DAYS_SCHEMA,
    "diff": object_of(
        {
            "differences": list_of(
                object_of({"pod": _POD}), "The pods that are decided otherwise."
            ),
            "summary": any_object("Sums."),
        }
    ),
    "plan": PLAN_SCHEMA,
    "replay": object_of(
        {
            "differences": list_of(
                object_of({"time": text_of("When it was decided."), "pod": _POD}),
                "The decisions that are other ones: with a policy, all; otherwise the first of "
                "each epoch.",
            ),
            "summary": any_object("Sums."),
        },
        epochs=list_of(
            object_of(
                {
                    "run": text_of("The process that decided."),
                    "epoch": whole_number_of("Its epoch."),
                }
            ),
            "The epochs, with what became of each.",
        ),
        workloads=any_object("With a policy, how many pods of each workload differ."),
    ),
    "sweep": SWEEP_SCHEMA,
    "bench": object_of({"measured": list_of(_MEASURED, "A workload each.")}),
    "rule": object_of(
        {"codes": list_of(_CODE, "Codes of findings.")},
        entries=list_of(_ENTRY, "Rules, facts, functions and macros."),
    ),
    "explain-field": object_of(
        {
            "document": text_of("The kind of the document."),
            "field": text_of("The path of the field; empty for the document."),
            "type": text_of("Its type."),
            "meaning": text_of("What it means."),
            "fields": list_of(
                object_of(
                    {
                        "name": text_of("The name of the field."),
                        "type": text_of("Its type."),
                        "meaning": text_of("What it means."),
                    },
                    default={"description": "Its value if it is not written."},
                ),
                "The fields in it.",
            ),
        },
        default={"description": "Its value if it is not written."},
    ),
    "policies": object_of(
        {
            "policies": list_of(
                object_of(
                    {
                        "name": text_of("The name of the policy."),
                        "about": text_of("What it is for."),
                    }
                ),
                "The policies that come with kpolicy.",
            )
        }
    ),
    "snapshot": object_of(
        {
            "bytes": whole_number_of("The size of the file."),
            "kinds": any_object("How many objects there are, by kind."),
            "nodes": any_object("Sums over nodes."),
            "pods": any_object("Sums over pods."),
            "resources": any_object("What there is and what is requested, by resource."),
            "problems": list_of(
                object_of({"code": text_of("The code."), "message": text_of("What is wrong.")}),
                "What could not be read.",
            ),
        }
    ),
    "version": object_of({"kpolicy": text_of("The version.")}),
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
