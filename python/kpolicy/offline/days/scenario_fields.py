"""What each field of a Scenario means, for its JSON Schema, which editors show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kpolicy.offline.policy_tests.document_fields import NODE_FIELDS, POD_FIELDS

SCENARIO_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "Scenario": {
        "apiVersion": "Always `kpolicy.dev/v1alpha1`.",
        "kind": "Always `Scenario`.",
        "metadata": "The name of the scenario.",
        "begins": "The time at which the days begin, which rules read as `now`.",
        "duration": "How long they last, such as `12h` or `7d`.",
        "sampleEvery": "How often figures are taken. Default: 200 times, at least a second apart.",
        "gracePeriod": "How long a pod that is evicted still holds its room.",
        "evicted": "recreated: another pod comes for each that is evicted or loses its node, as a "
        "controller would make it. gone: none does.",
        "snapshot": "Files beside this one with a recorded cluster, in which the days begin. Its "
        "pods on nodes stay, its pending pods are placed.",
        "nodes": "Nodes that are there from the beginning.",
        "pods": "Kinds of pods, to which `arrivals` and the trace refer by name.",
        "arrivals": "How often pods of each kind come.",
        "trace": "A CSV file beside this one, with a pod in each row.",
        "changes": "What happens to nodes.",
    },
    "Metadata": {
        "name": "The name of the scenario.",
        "namespace": "It changes nothing.",
        "labels": "They change nothing.",
        "annotations": "They change nothing.",
    },
    "NodeGroup": {
        **NODE_FIELDS,
        "from": "Another group of nodes that this starts from; maps are merged, lists replaced.",
        "name": "The name of the nodes; if there are several, `-1`, `-2` and so on are added.",
        "count": "How many such nodes there are; 0 where `changes` adds them later.",
    },
    "PodKind": {
        **POD_FIELDS,
        "from": "Another kind of pods that this starts from; maps are merged, lists replaced.",
        "name": "The name of the kind; pods are called after it, with a number.",
        "lifetime": "How long a pod stays on its node: a duration, or a distribution. Without it, "
        "until the end.",
    },
    "LifetimeForm": {
        "exponential": "The mean of an exponential distribution.",
        "uniform": "The shortest and the longest duration; all between are as likely.",
        "lognormal": "The median of a lognormal distribution, and what nine of ten stay below.",
    },
    "Arrivals": {
        "pods": "The kind of the pods, by its name.",
        "perHour": "How many come in an hour.",
        "hours": "A factor of `perHour` for each of the 24 hours of the day, in UTC.",
        "process": "poisson: at random times. even: in equal distances.",
        "from": "When they begin to come.",
        "until": "When they end to come. Default: the end.",
    },
    "Change": {
        "at": "When it happens, since the beginning.",
        "add": "The group of nodes of which one comes.",
        "count": "How many come.",
        "drain": "The nodes that take no new pods any more, and whose pods are evicted.",
        "uncordon": "The nodes that take pods again.",
        "fail": "The nodes that are gone at once, with their pods.",
    },
}
