"""Pages of the codes KP3xx, KP5xx and KP6xx: meaning, tests and snapshots, legacy import."""

from __future__ import annotations

from typing import Final

from kpolicy.policy.codes import ERROR, WARNING, Page

MEANING_PAGES: Final = (
    Page(
        "KP301",
        WARNING,
        "unguarded lookup",
        "Looking up a key that is not there is an error in CEL. A predicate that errs rejects the "
        "node, a priority that errs scores 0. A guard is seen wherever it stands: `'k' in m && …`, "
        "`!('k' in m) || …`, `? :`, `label(x, 'k')`, a condition around the rule. Whoever writes "
        "`onError` has decided, and is not told.",
        "node.labels['zone'] == 'a'",
        "label(node, 'zone') == 'a'",
    ),
    Page(
        "KP303",
        WARNING,
        "constant condition",
        "The condition is the same for all pods and nodes: a literal, or parts that exclude or "
        "cover each other. Parameters and variables count as switches, and are not told.",
        "pod.name == 'a' && pod.name == 'b'",
        "pod.name == 'a' || pod.name == 'b'",
    ),
    Page(
        "KP304",
        WARNING,
        "rule that never differs on the snapshot",
        "On the recorded cluster the rule passes every node, or rejects every node, for all pods "
        "that were asked about. Only `--snapshot` tells.",
        "label(node, 'zoen') == ''",
        "label(node, 'zone') == ''",
    ),
    Page(
        "KP305",
        ERROR,
        "always an error",
        "This part fails whatever the pod and the node are.",
        "node.free('cpu') / 0 > 5",
        "node.free('cpu') / 2 > 5",
    ),
    Page(
        "KP306",
        WARNING,
        "same as, or implied by, an earlier rule",
        "Whatever passes the earlier rule passes this one, so it adds nothing; a priority written "
        "twice counts twice.",
        "predicates:\n  - {name: a, expression: node.ready}\n  - {name: b, expression: node.ready}",
        "predicates:\n  - {name: a, expression: node.ready}",
    ),
    Page(
        "KP307",
        WARNING,
        "contradicts a built-in or another rule",
        "No node can pass both this rule and a built-in beside it, or both it and an earlier rule.",
        "predicates:\n  - builtin: NodeUnschedulable\n"
        "  - {name: a, expression: node.unschedulable}",
        "predicates:\n  - builtin: NodeUnschedulable\n  - {name: a, expression: node.ready}",
    ),
    Page(
        "KP312",
        WARNING,
        "not in the snapshot",
        "No node or pod of the recorded cluster has this label, taint, resource or namespace; a "
        "value of a label is told if one nearly like it exists. Only `--snapshot` tells.",
        "label(node, 'zoen') == 'a'",
        "label(node, 'zone') == 'a'",
    ),
    Page(
        "KP321",
        WARNING,
        "units differ",
        "The two numbers count different things, for example milli-cpu and bytes.",
        "node.free('cpu') > node.free('memory')",
        "node.free('cpu') > pod.request('cpu')",
    ),
    Page(
        "KP322",
        WARNING,
        "score without a bound",
        "Scores are clamped to 0-100. Without `normalize`, most nodes would share the top score. "
        "Whoever writes `normalize`, be it `none`, has decided, and is not told.",
        "priorities:\n  - {name: spare, expression: node.free('cpu')}",
        "priorities:\n  - {name: spare, expression: node.free('cpu'), normalize: {method: max}}",
    ),
    Page(
        "KP323",
        WARNING,
        "score that never differs",
        "A score that is equal on all nodes decides nothing: it reads nothing of the node, or "
        "`--snapshot` shows that it is the same on all nodes there.",
        "priorities:\n  - {name: same, expression: '50'}",
        "priorities:\n  - {name: ssd, expression: \"label(node, 'disk') == 'ssd' ? 100 : 0\"}",
    ),
    Page(
        "KP324",
        WARNING,
        "weight that drowns all others",
        "One priority weighs more than fifty times the sum of all others, so those only break "
        "ties. If that is meant, a predicate says it more clearly.",
        "priorities:\n  - {builtin: ImageLocality, weight: 1}\n"
        "  - {builtin: NodeAffinity, weight: 5000}",
        "priorities:\n  - {builtin: ImageLocality, weight: 1}\n"
        "  - {builtin: NodeAffinity, weight: 5}",
    ),
    Page(
        "KP325",
        WARNING,
        "no check of resources",
        "Nothing keeps pods off nodes that are full; the kubelet will reject them there.",
        "predicates:\n  - builtin: NodeName",
        "predicates:\n  - builtin: NodeName\n  - builtin: NodeResourcesFit",
    ),
    Page(
        "KP331",
        WARNING,
        "message that can fail or is too long",
        "When `messageExpression` errs, the text of `message` is shown instead; it is told only "
        "where the predicate is false, so what is false then guards it. Events have no room for "
        "more than 256 bytes.",
        "predicates:\n  - name: a\n    expression: node.ready\n"
        "    messageExpression: \"'rack ' + node.labels['rack']\"",
        "predicates:\n  - name: a\n    expression: node.ready\n"
        "    messageExpression: \"'rack ' + label(node, 'rack')\"",
    ),
    Page(
        "KP332",
        WARNING,
        "message or reason of the wrong form",
        "Events show one line; reasons are CamelCase words, as in the Kubernetes API.",
        "predicates:\n  - {name: a, expression: node.ready, reason: not ready}",
        "predicates:\n  - {name: a, expression: node.ready, reason: NotReady}",
    ),
    Page(
        "KP341",
        WARNING,
        "time in a predicate",
        "A pod parked by the clock is not woken by any event, and its decision cannot be told "
        "again. So no fact tells the time; names such as `now` are unknown (KP201).",
        "pod.queuedSeconds > 60",
        "pod.priority > 0",
    ),
    Page(
        "KP351",
        WARNING,
        "changing fact marked `preemptible: false`",
        "Evicting pods may change what this rule reads, so preemption could help after all.",
        "predicates:\n  - {name: room, preemptible: false, expression: node.free('cpu') > 0}",
        "predicates:\n  - {name: room, expression: node.free('cpu') > 0}",
    ),
    Page(
        "KP361",
        WARNING,
        "condition better said by a profile",
        "Every pod of the profile fails or passes this condition alike.",
        "matchConditions: [{name: ours, expression: pod.schedulerName == 'kpolicy'}]",
        "matchConditions: [{name: high, expression: pod.priority > 1000}]",
    ),
    Page(
        "KP501",
        ERROR,
        "test of an unknown rule, profile or snapshot",
        "The test names something that does not exist.",
        "expect: {filters: {n1: {rejectedBy: spto}}}",
        "expect: {filters: {n1: {rejectedBy: spot}}}",
    ),
    Page(
        "KP502",
        ERROR,
        "test that asserts nothing",
        "A test without expectations cannot fail, and a document without tests tests nothing.",
        "expect: {}",
        "expect: {decision: place}",
    ),
    Page(
        "KP503",
        WARNING,
        "rule not seen both ways",
        "No test sees this rule both pass and reject.",
        "tests: []",
        "tests: [{name: rejects, …}, {name: passes, …}]",
    ),
    Page(
        "KP504",
        WARNING,
        "snapshot of another version",
        "The snapshot was recorded with another version of Kubernetes or kpolicy.",
        "snapshot: of-1.30.kpsnap",
        "snapshot: of-1.36.kpsnap",
    ),
    Page(
        "KP601",
        WARNING,
        "legacy name that never worked",
        "The name was not registered, or did nothing, in the release it comes from.",
        '{"name": "PodToleratesNodeNoExecuteTaints"}',
        '{"name": "PodToleratesNodeTaints"}',
    ),
    Page(
        "KP602",
        WARNING,
        "meaning chosen among releases",
        "kube-scheduler releases disagreed here; the message says which meaning is taken. "
        '`compatibility: {release: "1.N"}` in the file chooses another.',
        '{"kind": "Policy"}',
        '{"kind": "Policy", "predicates": [], "priorities": []}',
    ),
    Page(
        "KP603",
        ERROR,
        "legacy argument that cannot be expressed",
        "The argument is missing, empty, doubled, or of another rule.",
        '{"name": "Region", "argument": {"serviceAffinity": {"label": "region"}}}',
        '{"name": "Region", "argument": {"serviceAffinity": {"labels": ["region"]}}}',
    ),
    Page(
        "KP604",
        WARNING,
        "kube-scheduler setting without effect here",
        "The plugin or setting is read, but kpolicy does that part in one way only.",
        "plugins: {queueSort: {enabled: [{name: Coscheduling}]}}",
        "plugins: {}",
    ),
    Page(
        "KP605",
        ERROR,
        "nothing to convert",
        "The document is a SchedulingPolicy already; `kpolicy convert` reads what is not.",
        "kpolicy convert policy.yaml",
        "kpolicy convert scheduler.json",
    ),
    Page(
        "KP606",
        ERROR,
        "version of KubeSchedulerConfiguration that is not read",
        "v1, v1beta3 and v1beta2 are read, each with the defaults it had. Plugins and arguments of "
        "earlier versions have other names and meanings, and no release since 1.24 reads them.",
        "apiVersion: kubescheduler.config.k8s.io/v1beta1\nkind: KubeSchedulerConfiguration",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration",
    ),
)
