"""What each field of a SchedulingPolicy means, for its JSON Schema, which editors show.

A table beside the models, because a text at each field would be loaded with every command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_RULE: Final = {
    "name": "The name by which messages, metrics and overrides name the rule. A rule replaces the "
    "base's rule of the same name. Default: the name of the built-in.",
    "description": "What the rule is for, in words for people. It changes no decision.",
    "builtin": "A built-in rule, by its name in kube-scheduler. Instead of `expression`.",
    "args": "Arguments of the built-in.",
    "matchConditions": "The rule applies only to pods for which all of these hold.",
    "enabled": "False removes the rule. To remove one of the base, `name` and this are enough.",
}

FIELD_DESCRIPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "SchedulingPolicy": {
        "apiVersion": "The version of the format.",
        "kind": "The kind of the document.",
        "metadata": "The name of the policy, and its labels.",
        "spec": "The policy itself.",
    },
    "Metadata": {
        "name": "The name of the document.",
        "namespace": "It changes no decision.",
        "labels": "They change no decision.",
        "annotations": "They change no decision.",
    },
    "Spec": {
        "profiles": "Which pods the policy serves, by their `spec.schedulerName`.",
        "base": "The policy on which this one stands, by name. `none`: it stands on no other.",
        "order": "Where several policies serve a profile: those with a lower order come first, "
        "then by name.",
        "failurePolicy": "What happens to a pod if a match condition of the policy cannot be "
        "evaluated. Fail: the pod is parked. Ignore: the policy skips the pod.",
        "matchConditions": "The rules apply only to pods for which all of these hold.",
        "params": "Values that expressions read as `params.NAME`.",
        "paramsFrom": "ConfigMaps with values of params.",
        "variables": "Expressions that others read as `variables.NAME`.",
        "predicates": "Rules that filter: which nodes a pod may run on.",
        "priorities": "Rules that score: which nodes a pod had better run on.",
        "devices": "Which of the devices that a node has go to a claim. Without it, those that "
        "kube-scheduler would give.",
        "predicateOrder": "kubeScheduler: built-ins run in the order of kube-scheduler. "
        "asWritten: predicates run in the order of this list.",
        "limits": "What the rules may cost.",
        "preemption": "How room is made for a pod that fits nowhere.",
        "queue": "Which pod is tried next, and which pods wait.",
        "extenders": "HTTP servers that filter, score, preempt or bind too.",
        "plugins": "Which plugins of the process (`--plugin`) the profiles have, and in which "
        "order. Default: all, in the order of loading.",
        "tieBreak": "How one of several nodes with the best score is chosen: at random, by name, "
        "or by the fewest pods. Default: random. One setting for all policies in force.",
        "minEngine": "The oldest release of kpolicy that may use the policy.",
        "shadow": "True: the rules are evaluated and reported, and change no decision.",
        "implicit": "Built-in predicates that apply though the list of predicates lacks them, as a "
        "legacy release of kube-scheduler had them.",
        "evaluateAll": "It is accepted from legacy files and has no effect: `kpolicy explain` "
        "always names all predicates that fail.",
        "interPodAffinity": "Arguments of the built-in InterPodAffinity.",
        "percentageOfNodesToScore": "How many feasible nodes are looked for before they are "
        "scored, in percent of all nodes.",
        "compatibility": "The release of kube-scheduler whose meaning the policy has.",
    },
    "Compatibility": {
        "release": "`auto` (the release of the cluster), a release to decide as, such as "
        "`1.36`, or the earlier release of a legacy file.",
        "featureGates": "Feature gates of kube-scheduler that are not as the release has them.",
    },
    "ConfigMapReference": {
        "namespace": "The namespace of the ConfigMap.",
        "name": "The name of the ConfigMap.",
        "optional": "True: it may be absent; the params then keep their defaults.",
    },
    "ParamsFrom": {"configMap": "The ConfigMap; its keys are names of params."},
    "Param": {
        "type": "The type of the value, for example `int`, `string` or `quantity`.",
        "default": "The value if nothing else gives one. Without it, a value must be given.",
        "description": "What the param is for, in words for people.",
        "minimum": "The least value that is accepted.",
        "maximum": "The greatest value that is accepted.",
        "unit": "milli: a quantity is counted in thousandths, as CPU is.",
    },
    "MatchCondition": {
        "name": "The name by which messages name the condition.",
        "expression": "A CEL expression on the pod, true or false.",
    },
    "Variable": {
        "name": "The name: other expressions read `variables.NAME`.",
        "expression": "A CEL expression of any type.",
    },
    "Predicate": {
        **_RULE,
        "expression": "A CEL expression: true passes the node, false rejects it.",
        "message": "What the pod's condition and events say of a node that is rejected.",
        "messageExpression": "A CEL expression that gives the message.",
        "reason": "A short text under which rejected nodes are counted.",
        "preemptible": "False: eviction of pods cannot make this rule pass a node that it rejects.",
        "helpedBy": "What may help a pod that the rule rejects on every node. newNode: also a node "
        "that the cluster does not have yet. other: no new node, so that no autoscaler adds one "
        "for it. Default: newNode for a built-in, and for an expression that reads a fact of "
        "nodes.",
        "enforcement": "deny: the rule rejects nodes. audit: it only reports what it would reject.",
        "onError": "What a node gets on which the expression cannot be evaluated.",
    },
    "Priority": {
        **_RULE,
        "expression": "A CEL expression that gives a number for a node. Higher is better.",
        "weight": "The score of the rule, from 0 to 100, is multiplied by this number. 0: the rule "
        "does not count.",
        "normalize": "How the numbers of all nodes become scores from 0 to 100.",
        "onError": "What a node gets on which the expression cannot be evaluated: a score of 0.",
    },
    "Normalize": {
        "method": "none: numbers are scores. linear: `from` becomes `to`. minmax: the least number "
        "becomes 0, the greatest 100. max: the greatest becomes 100. reverse: "
        "100 less the score of max. shape: by straight lines between `points`.",
        "from": "Two numbers, rising: the range that becomes `to`. With `method: linear`.",
        "to": "Two scores, rising or falling. With `method: linear`.",
        "points": "Points of a curve from numbers to scores. With `method: shape`.",
    },
    "Point": {"x": "The number.", "y": "The score of that number."},
    "Profile": {
        "schedulerName": "Pods with this `spec.schedulerName` are served by the policy.",
        "percentageOfNodesToScore": "As the field of the policy, for this profile.",
        "overrides": "Rules that differ for this profile.",
    },
    "Overrides": {
        "predicates": "Predicates that differ for this profile.",
        "priorities": "Priorities that differ for this profile.",
    },
    "PredicateOverride": {"name": "The rule.", "enabled": "False removes it from this profile."},
    "PriorityOverride": {
        "name": "The rule.",
        "weight": "The weight in this profile.",
        "enabled": "False removes it from this profile.",
    },
    "Limits": {
        "costPerNode": "What an expression may cost on one node, in its worst case.",
        "costPerCycle": "What all rules together may cost for one pod, on all nodes.",
        "allowQuadratic": "True: the worst case of a loop inside a loop may be above "
        "`costPerNode`. On a node where it really is, the rule errs (KR110).",
    },
    "PluginSets": {
        "multiPoint": "Plugins at all of their extension points.",
        "preEnqueue": "Plugins that keep pods from being queued.",
        "queueSort": "The plugin that orders the queue.",
        "reserve": "Plugins that reserve something for a pod, and give it back.",
        "permit": "Plugins that allow, refuse or delay a placement.",
        "preBind": "Plugins that act before the bind.",
        "bind": "Plugins that may bind in the place of kpolicy.",
        "postBind": "Plugins that act after the bind.",
    },
    "PluginChoice": {
        "enabled": "These come first, in this order.",
        "disabled": "These are left out; `*`: all that are not enabled here.",
    },
    "PluginName": {"name": "The name of the plugin."},
    "Preemption": {
        "policy": "Never: no pod is evicted for another.",
        "minCandidateNodesPercentage": "How many nodes are looked at at least, in percent of all.",
        "minCandidateNodesAbsolute": "How many nodes are looked at at least.",
        "victims": "Which pods may be evicted.",
        "order": "What decides between nodes, each where those before it tie. Default: all five, "
        "in the order of kube-scheduler.",
        "freesDevices": "True: devices of claims that no pod uses but the victims count as free. "
        "In kube-scheduler, evicting pods frees no devices.",
    },
    "Queue": {
        "order": "Which pod is tried next. Default: by priority, then by time, as kube-scheduler.",
        "holds": "What keeps pods from being tried.",
        "tenantLabel": "Namespaces with the same value of this label are one tenant. Default: "
        "`--tenant-label` of the process, without which each namespace is one.",
        "podInitialBackoff": "The first back-off of a pod that did not fit, in seconds. This and "
        "the other periods count before the settings of the process, which have the same names.",
        "podMaxBackoff": "The longest back-off, in seconds.",
        "flushAfter": "After how long a pod that no event wakes is tried again, in seconds.",
        "flushPeriod": "How often that is checked, in seconds.",
    },
    "Order": {
        "expression": "A CEL expression that gives a number; the pod with the smallest number is "
        "tried first.",
        "maxOvertakes": "So many pods that came later may be tried before a pod.",
    },
    "Hold": {
        "name": "The name of the hold, in messages and metrics.",
        "description": "What the hold is for.",
        "when": "A CEL expression: true holds the pod. Without it, the hold of a base is removed.",
        "matchConditions": "The hold concerns only pods for which all of these hold.",
        "message": "What the pod's condition says while it is held.",
        "messageExpression": "A CEL expression that gives this message.",
        "reason": "A word for the event of the pod.",
    },
    "Devices": {
        "score": "Rules that score the allocations that a node can give: which one it gives, and "
        "how good the node is for the pod.",
    },
    "DeviceScore": {
        "name": "The name by which messages, metrics and overrides name the rule.",
        "description": _RULE["description"],
        "expression": "A CEL expression that sees `allocation`: a number from 0 to 100.",
        "matchConditions": _RULE["matchConditions"],
        "weight": "The value of the rule is multiplied by this number.",
        "enabled": "False removes the rule.",
    },
    "Victims": {
        "expression": "A CEL expression that sees `victim`, a pod of lower priority, and its "
        "`node`: true lets it be evicted.",
    },
    "Extender": {
        "name": "The name by which messages and metrics name the extender.",
        "urlPrefix": "The address of the server; a verb is appended to it.",
        "filterVerb": "The path of the filter call. Empty: the extender does not filter.",
        "prioritizeVerb": "The path of the score call. Empty: the extender does not score.",
        "preemptVerb": "The path of the preemption call. Empty: it has no say in preemption.",
        "bindVerb": "The path of the bind call. Empty: kpolicy binds.",
        "weight": "Scores of the extender are multiplied by this number.",
        "enableHTTPS": "True: the connection uses TLS.",
        "tlsConfig": "Certificates for TLS.",
        "httpTimeout": "How long an answer may take, as `5s`.",
        "nodeCacheCapable": "True: the extender knows the nodes and gets only their names.",
        "ignorable": "True: pods are scheduled without the extender if it fails.",
        "managedResources": "The extender is asked only for pods that request one of these. "
        "Empty: for all pods.",
    },
    "ManagedResource": {
        "name": "The name of the resource.",
        "ignoredByScheduler": "True: kpolicy does not check it, because the extender does.",
    },
    "ExtenderTls": {
        "insecure": "True: the server's certificate is not verified.",
        "serverName": "The name that the server's certificate must have.",
        "certFile": "A file with the client's certificate.",
        "keyFile": "A file with the client's key.",
        "caFile": "A file with the authorities that may sign the server's certificate.",
        "certData": "The client's certificate, in base64.",
        "keyData": "The client's key, in base64.",
        "caData": "The authorities that may sign the server's certificate, in base64.",
    },
    "InterPodAffinityArgs": {
        "hardPodAffinityWeight": "The weight of required affinity of running pods in scores.",
        "ignorePreferredTermsOfExistingPods": "True: preferred terms of running pods do not count "
        "for a pod that has none of its own.",
    },
}


def describe_fields(
    schema: dict[str, Any],
    descriptions: Mapping[str, Mapping[str, str]] = FIELD_DESCRIPTIONS,
) -> None:
    """Add the descriptions to a JSON Schema as pydantic makes it."""
    for name, model in ((schema["title"], schema), *schema.get("$defs", {}).items()):
        texts = descriptions.get(name, {})
        for field, of_field in model.get("properties", {}).items():
            if field in texts:
                of_field["description"] = texts[field]
