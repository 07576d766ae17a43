"""Pages of the codes KP1xx: the document."""

from __future__ import annotations

from typing import Final

from kpolicy.policy.codes import ERROR, WARNING, Page

DOCUMENT_PAGES: Final = (
    Page(
        "KP101",
        ERROR,
        "not YAML, or not one of our kinds",
        "The text cannot be read as YAML, or the document is none of SchedulingPolicy, "
        "KubeSchedulerConfiguration, the legacy Policy, or a ConfigMap that carries one. "
        "Nothing of it can be put in force.",
        "kind: SchedulingPolice",
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy",
    ),
    Page(
        "KP102",
        ERROR,
        "unknown field",
        "The document is strict: a field that nothing reads is nearly always a typing error, and "
        "ignoring it would change what the policy does without a word.",
        "priorities:\n  - name: spare\n    wieght: 3",
        "priorities:\n  - name: spare\n    weight: 3",
    ),
    Page(
        "KP103",
        ERROR,
        "unknown built-in, method or enum value",
        "The name is not one of those that exist. The hint names the nearest ones.",
        "predicates:\n  - builtin: NodeResourceFit",
        "predicates:\n  - builtin: NodeResourcesFit",
    ),
    Page(
        "KP104",
        ERROR,
        "duplicate name",
        "A name stands for one thing: rules are replaced by name in `extends` and `overrides`, and "
        "explain, events and metrics cite them by it.",
        "priorities:\n  - {name: ssd, weight: 1, expression: '1'}\n"
        "  - {name: ssd, weight: 2, expression: '2'}",
        "priorities:\n  - {name: ssd, weight: 1, expression: '1'}\n"
        "  - {name: nvme, weight: 2, expression: '2'}",
    ),
    Page(
        "KP105",
        ERROR,
        "duplicate YAML key",
        "YAML readers disagree on which of two equal keys counts, so one of them would be lost "
        "without a word.",
        "metadata:\n  name: a\n  name: b",
        "metadata:\n  name: a",
    ),
    Page(
        "KP106",
        WARNING,
        "a value that YAML readers disagree on",
        "YAML 1.1 takes `no`, `on`, `012` and `1:30` for booleans and numbers. kpolicy reads YAML "
        "1.2 and takes the words for text and `012` for twelve; other tools on the way, such as "
        "Helm, may not.",
        "labels: {country: no}",
        'labels: {country: "no"}',
    ),
    Page(
        "KP107",
        ERROR,
        "expression and built-in together, or neither",
        "A rule is either a built-in of kube-scheduler or an expression of yours.",
        "predicates:\n  - name: a\n    builtin: NodeName\n    expression: node.ready",
        "predicates:\n  - builtin: NodeName\n  - name: a\n    expression: node.ready",
    ),
    Page(
        "KP108",
        ERROR,
        "anchor or alias",
        "Aliases can make a document of a few lines stand for billions of values, so a policy is "
        "read without them.",
        "spec:\n  predicates: &p []\n  priorities: *p",
        "spec:\n  predicates: []\n  priorities: []",
    ),
    Page(
        "KP109",
        ERROR,
        "document too large",
        "Everything kpolicy reads has a bound: 1 MiB, 64 levels, 50,000 values and 256 documents.",
        "a file of 2 MiB",
        "several files of less than 1 MiB",
    ),
    Page(
        "KP110",
        ERROR,
        "CEL syntax",
        "The expression cannot be read as CEL.",
        "pod.priority > 5 &&",
        "pod.priority > 5 && node.ready",
    ),
    Page(
        "KP111",
        ERROR,
        "reserved word used as a name",
        "CEL keeps words such as `namespace`, `for` and `let` for itself.",
        "namespace == 'default'",
        "pod.namespace == 'default'",
    ),
    Page(
        "KP112",
        ERROR,
        "expression too long or too deep",
        "An expression may have 10 KiB and 64 levels; longer ones are hard to read and to bound.",
        "expression: ((((((((…))))))))",
        "variables: [{name: part, expression: …}]",
    ),
    Page(
        "KP113",
        ERROR,
        "value of the wrong type or out of range",
        "The field wants another type, or a value within bounds.",
        "priorities:\n  - {name: ssd, weight: '3', expression: '1'}",
        "priorities:\n  - {name: ssd, weight: 3, expression: '1'}",
    ),
    Page(
        "KP114",
        ERROR,
        "missing field",
        "The field has no default, so the document means nothing without it.",
        "variables:\n  - expression: pod.name",
        "variables:\n  - name: who\n    expression: pod.name",
    ),
    Page(
        "KP115",
        ERROR,
        "arguments that do not go together",
        "The arguments of a built-in are checked as kube-scheduler checks its configuration.",
        "args: {scoringStrategy: {type: RequestedToCapacityRatio}}",
        "args:\n  scoringStrategy:\n    type: RequestedToCapacityRatio\n"
        "    requestedToCapacityRatio:\n"
        "      shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]",
    ),
    Page(
        "KP116",
        ERROR,
        "policies that contradict each other",
        "Several policies of a profile add up; where a setting can have one value only, such as "
        "`tieBreak`, they must agree.",
        "tieBreak: name     # in one policy\ntieBreak: random   # in another",
        "tieBreak: name     # in one of them",
    ),
    Page(
        "KP117",
        ERROR,
        "no profile",
        "No document says which pods to serve, so nothing would ever be scheduled.",
        "spec:\n  predicates: []",
        "spec:\n  profiles: [{schedulerName: kpolicy}]",
    ),
    Page(
        "KP118",
        ERROR,
        "made for a newer kpolicy",
        "`spec.minEngine` asks for a newer release than this one.",
        'spec: {minEngine: "99.0"}',
        'spec: {minEngine: "0.1"}',
    ),
    Page(
        "KP119",
        ERROR,
        "cannot be laid out",
        "`kpolicy fmt` writes a file only if values, comments and the compiled program stay the "
        "same. Tags, complex keys and comments in odd places can prevent that.",
        "? name\n: no-spot",
        "name: no-spot",
    ),
    Page(
        "KP120",
        ERROR,
        "`extends` unknown or cyclic",
        "A policy extends another by its name, at most four deep and never itself.",
        "metadata: {name: a}\nspec: {extends: a}",
        "metadata: {name: a}\nspec: {extends: kube-scheduler-default}",
    ),
    Page(
        "KP121",
        ERROR,
        "variable used before its definition, or unused",
        "Variables are defined in order; each may use those above it. An unused one is a warning.",
        "variables:\n  - {name: a, expression: variables.b}\n  - {name: b, expression: '1'}\n"
        "predicates: [{name: c, expression: variables.a > node.podCount}]",
        "variables:\n  - {name: b, expression: '1'}\n  - {name: a, expression: variables.b}\n"
        "predicates: [{name: c, expression: variables.a > node.podCount}]",
    ),
    Page(
        "KP122",
        ERROR,
        "override of a rule that does not exist",
        "`overrides` change rules by name; a name that no rule has would change nothing.",
        "overrides:\n  priorities: [{name: leest-allocated, weight: 0}]",
        "overrides:\n  priorities: [{name: least-allocated, weight: 0}]",
    ),
    Page(
        "KP123",
        ERROR,
        "ConfigMap of params that is not there",
        "`paramsFrom` names a ConfigMap that is neither among the files nor, for `kpolicy run`, in "
        "the cluster.",
        "paramsFrom: [{configMap: {namespace: kpolicy-system, name: gpu-parms}}]",
        "paramsFrom: [{configMap: {namespace: kpolicy-system, name: gpu-params, optional: true}}]",
    ),
    Page(
        "KP124",
        ERROR,
        "value for a param that no policy declares",
        "A value was given by `--param`, or by a test, under a name that no policy declares.",
        "params: {maxGangPerRack: 2}",
        "params: {maxGangsPerRack: 2}",
    ),
    Page(
        "KP125",
        WARNING,
        "key of a ConfigMap that is no param",
        "`paramsFrom` takes the keys of a ConfigMap that are names of declared params; this one "
        "has no effect.",
        "data: {maxGangPerRack: '2'}",
        "data: {maxGangsPerRack: '2'}",
    ),
    Page(
        "KP130",
        WARNING,
        "deprecated, or without effect",
        "The name is read, but Kubernetes or kube-scheduler have given it up, or it does nothing "
        "here. The hint says what is used instead.",
        "label(node, 'failure-domain.beta.kubernetes.io/zone') == 'a'",
        "label(node, 'topology.kubernetes.io/zone') == 'a'",
    ),
    Page(
        "KP142",
        WARNING,
        "mounted with subPath",
        "A volume mounted with subPath never changes, so edits of the ConfigMap are not seen.",
        "volumeMounts:\n  - {mountPath: /policy.yaml, subPath: policy.yaml}",
        "volumeMounts:\n  - {mountPath: /etc/kpolicy}",
    ),
    Page(
        "KP190",
        WARNING,
        "unused suppression",
        "The comment silences a finding that is not there any more.",
        "predicates:\n  - {name: a, expression: node.ready}  # kpolicy: ignore[KP301]",
        "predicates:\n  - {name: a, expression: node.ready}",
    ),
)
