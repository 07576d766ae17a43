"""Pages of the codes KP1xx: the document."""

from __future__ import annotations

from typing import Final

from kpolicy.policy.codes import ERROR, WARNING, Page

DOCUMENT_PAGES: Final = (
    Page(
        "KP101",
        ERROR,
        "not YAML, or not a kind that kpolicy reads",
        "The text is not valid YAML, or the document is of another kind. kpolicy reads "
        "SchedulingPolicy, KubeSchedulerConfiguration, the legacy Policy, and ConfigMaps that "
        "carry one of these. No part of the file is put in force.",
        "kind: SchedulingPolice",
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy",
    ),
    Page(
        "KP102",
        ERROR,
        "unknown field",
        "The document has a field that kpolicy does not know. Most often it is a typing error. If "
        "kpolicy ignored it, the policy would do something else than its author expects.",
        "priorities:\n  - name: spare\n    wieght: 3",
        "priorities:\n  - name: spare\n    weight: 3",
    ),
    Page(
        "KP103",
        ERROR,
        "unknown built-in, method or enum value",
        "The name does not exist. The hint names the most similar name.",
        "predicates:\n  - builtin: NodeResourceFit",
        "predicates:\n  - builtin: NodeResourcesFit",
    ),
    Page(
        "KP104",
        ERROR,
        "duplicate name",
        "A name must be unique: a policy and `overrides` replace rules by name, and explain, "
        "events and metrics show the name.",
        "priorities:\n  - {name: ssd, weight: 1, expression: '1'}\n"
        "  - {name: ssd, weight: 2, expression: '2'}",
        "priorities:\n  - {name: ssd, weight: 1, expression: '1'}\n"
        "  - {name: nvme, weight: 2, expression: '2'}",
    ),
    Page(
        "KP105",
        ERROR,
        "duplicate YAML key",
        "YAML readers disagree on which of two equal keys counts. One of the two values would be "
        "lost without a message.",
        "metadata:\n  name: a\n  name: b",
        "metadata:\n  name: a",
    ),
    Page(
        "KP106",
        WARNING,
        "a value that YAML readers disagree on",
        "YAML 1.1 reads `no`, `on`, `012` and `1:30` as booleans and numbers. kpolicy reads YAML "
        "1.2: the words are text, and `012` is twelve. Other tools that handle the file, such as "
        "Helm, may read it in the other way.",
        "labels: {country: no}",
        'labels: {country: "no"}',
    ),
    Page(
        "KP107",
        ERROR,
        "expression and built-in together, or neither",
        "A rule has either `builtin`, a built-in of kube-scheduler, or `expression`. Only one that "
        "removes a rule of the base, `{name: RULE, enabled: false}`, has neither.",
        "predicates:\n  - name: a\n    builtin: NodeName\n    expression: node.ready",
        "predicates:\n  - builtin: NodeName\n  - name: a\n    expression: node.ready",
    ),
    Page(
        "KP108",
        ERROR,
        "anchor, alias or tag",
        "With aliases, a document of a few lines can stand for billions of values. Therefore "
        "kpolicy does not read them. A tag, `!name`, is no part of the value: an expression that "
        "begins with `!` needs quotes.",
        "spec:\n  predicates: &p []\n  priorities: *p",
        "spec:\n  predicates: []\n  priorities: []",
    ),
    Page(
        "KP109",
        ERROR,
        "document too large",
        "A policy file can have at most 1 MiB, 64 levels of nesting, 50,000 values and 256 "
        "documents.",
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
        "CEL reserves words such as `namespace`, `for` and `let`.",
        "namespace == 'default'",
        "pod.namespace == 'default'",
    ),
    Page(
        "KP112",
        ERROR,
        "expression too long or too deep",
        "An expression can have at most 10 KiB and 64 levels of nesting. The expressions of all "
        "profiles together have a limit too; each rule contains the variables that it uses.",
        "expression: ((((((((…))))))))",
        "variables: [{name: part, expression: …}]",
    ),
    Page(
        "KP113",
        ERROR,
        "value of the wrong type or out of range",
        "The value has another type than the field, or is outside of the range of the field.",
        "priorities:\n  - {name: ssd, weight: '3', expression: '1'}",
        "priorities:\n  - {name: ssd, weight: 3, expression: '1'}",
    ),
    Page(
        "KP114",
        ERROR,
        "missing field",
        "The field has no default, so the document must state it.",
        "variables:\n  - expression: pod.name",
        "variables:\n  - name: who\n    expression: pod.name",
    ),
    Page(
        "KP115",
        ERROR,
        "arguments that contradict each other",
        "These arguments of a built-in contradict each other. kpolicy checks arguments as "
        "kube-scheduler checks its configuration.",
        "args: {scoringStrategy: {type: RequestedToCapacityRatio}}",
        "args:\n  scoringStrategy:\n    type: RequestedToCapacityRatio\n"
        "    requestedToCapacityRatio:\n"
        "      shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]",
    ),
    Page(
        "KP116",
        ERROR,
        "policies that contradict each other",
        "The rules of all policies of a profile apply together. A setting such as `tieBreak` has "
        "a single value, so the policies must agree on it.",
        "tieBreak: name     # in one policy\ntieBreak: random   # in another",
        "tieBreak: name     # in one of them",
    ),
    Page(
        "KP117",
        ERROR,
        "no profile",
        "No document names a profile, so no pod would be scheduled.",
        "spec:\n  predicates: []",
        "spec:\n  profiles: [{schedulerName: kpolicy}]",
    ),
    Page(
        "KP118",
        ERROR,
        "made for a newer kpolicy",
        "`spec.minEngine` requires a newer release of kpolicy than this one.",
        'spec: {minEngine: "99.0"}',
        'spec: {minEngine: "0.1"}',
    ),
    Page(
        "KP119",
        ERROR,
        "cannot be formatted",
        "`kpolicy fmt` writes a file only if values, comments and the compiled program stay the "
        "same. Tags, complex keys and comments in odd places can prevent that.",
        "? name\n: no-spot",
        "name: no-spot",
    ),
    Page(
        "KP120",
        ERROR,
        "`base` unknown or cyclic",
        "A policy stands on the base that it names. At most four policies can follow each other "
        "in this way, and none may stand on itself. `base: none` is no base.",
        "metadata: {name: a}\nspec: {base: a}",
        "metadata: {name: a}\nspec: {base: kube-scheduler-default}",
    ),
    Page(
        "KP121",
        ERROR,
        "variable used before its definition, or unused",
        "Variables are defined in order: each can use the variables above it. A variable that "
        "nothing uses is a warning.",
        "variables:\n  - {name: a, expression: variables.b}\n  - {name: b, expression: '1'}\n"
        "predicates: [{name: c, expression: variables.a > node.podCount}]",
        "variables:\n  - {name: b, expression: '1'}\n  - {name: a, expression: variables.b}\n"
        "predicates: [{name: c, expression: variables.a > node.podCount}]",
    ),
    Page(
        "KP122",
        ERROR,
        "override of a rule that does not exist",
        "`overrides` change rules by name, and `{name: RULE, enabled: false}` removes one of the "
        "base. No rule has this name, so nothing would change.",
        "overrides:\n  priorities: [{name: leest-allocated, weight: 0}]",
        "overrides:\n  priorities: [{name: least-allocated, weight: 0}]",
    ),
    Page(
        "KP123",
        ERROR,
        "ConfigMap of params that does not exist",
        "`paramsFrom` names a ConfigMap that does not exist: it is not among the files, and for "
        "`kpolicy run` not in the cluster.",
        "paramsFrom: [{configMap: {namespace: kpolicy-system, name: gpu-parms}}]",
        "paramsFrom: [{configMap: {namespace: kpolicy-system, name: gpu-params, optional: true}}]",
    ),
    Page(
        "KP124",
        ERROR,
        "value for a param that no policy declares",
        "`--param` or a test gives a value for a name that no policy declares as a param.",
        "params: {maxGangPerRack: 2}",
        "params: {maxGangsPerRack: 2}",
    ),
    Page(
        "KP125",
        WARNING,
        "key of a ConfigMap that is not a param",
        "`paramsFrom` reads the keys of a ConfigMap that are names of declared params. This key "
        "is none, so it has no effect.",
        "data: {maxGangPerRack: '2'}",
        "data: {maxGangsPerRack: '2'}",
    ),
    Page(
        "KP126",
        WARNING,
        "rules of the base written again",
        "A policy that names no `base` stands on `kube-scheduler-default`, and has all rules of "
        "it. Listing one of them again changes nothing. A document that was written when its own "
        "rules were all that it had now has more; `kpolicy lint --fix` writes `base: none` there, "
        "so that it decides as before. KP325 then says what it ignores.",
        "predicates:\n  - builtin: NodeUnschedulable\n  - {name: a, expression: node.ready}",
        "predicates:\n  - {name: a, expression: node.ready}",
    ),
    Page(
        "KP130",
        WARNING,
        "deprecated, or without effect",
        "kpolicy reads the name, but Kubernetes or kube-scheduler have removed or deprecated it, "
        "kpolicy calls it otherwise today, or it has no effect here. The hint says what to use "
        "instead.",
        "label(node, 'failure-domain.beta.kubernetes.io/zone') == 'a'",
        "label(node, 'topology.kubernetes.io/zone') == 'a'",
    ),
    Page(
        "KP131",
        ERROR,
        "scheduler name that the policy may not serve",
        "A policy in a ConfigMap is as trustworthy as those who may write the ConfigMap. So the "
        "configuration of the process says whose pods policies may serve: `--scheduler-names`, or "
        "`schedulerNames` in its file. `kpolicy lint --scheduler-names` checks the same.",
        "# with --scheduler-names=kpolicy\nprofiles: [{schedulerName: default-scheduler}]",
        "# with --scheduler-names=kpolicy\nprofiles: [{schedulerName: kpolicy}]",
    ),
    Page(
        "KP132",
        ERROR,
        "extender that the policy may not ask",
        "An extender gets whole pods, and decides where they run. So the configuration of the "
        "process says which hosts and ports may be asked: `--extender-hosts`, which is `none` for "
        "policies in ConfigMaps and `any` for files, unless it is set.",
        "# with --extender-hosts=licences.tools.svc:8443\n"
        "extenders: [{urlPrefix: 'http://198.51.100.7:8000', filterVerb: filter}]",
        "# with --extender-hosts=licences.tools.svc:8443\n"
        "extenders: [{urlPrefix: 'https://licences.tools.svc:8443', filterVerb: filter}]",
    ),
    Page(
        "KP133",
        ERROR,
        "certificate file that the policy may not name",
        "The process can read files that the author of a policy cannot, such as its own token. So "
        "files of certificates must be in the folder of `--certificate-folder`. Without it, "
        "policies in ConfigMaps may name no files; they can carry certificates as data.",
        "# with --certificate-folder=/etc/kpolicy/certificates\n"
        "tlsConfig: {caFile: /var/run/secrets/kubernetes.io/serviceaccount/token}",
        "# with --certificate-folder=/etc/kpolicy/certificates\n"
        "tlsConfig: {caFile: /etc/kpolicy/certificates/licences/ca.crt}",
    ),
    Page(
        "KP134",
        ERROR,
        "address or verb of an extender that may lead elsewhere",
        "`urlPrefix` is http or https, a host, a port and a path; a verb is one or more segments "
        "of a path. Neither may have `..`, a query, a fragment or characters that have to be "
        "escaped, because proxies and servers disagree on where such an address leads.",
        "extenders: [{urlPrefix: 'http://127.0.0.1:8001/x', bindVerb: ../api/v1/nodes}]",
        "extenders: [{urlPrefix: 'http://127.0.0.1:8001/x', bindVerb: bind}]",
    ),
    Page(
        "KP135",
        ERROR,
        "setting that is not a tenant's",
        "A tenant's policy adds rules for the tenant's pods to the operator's policy. It can "
        "reject more nodes, and prefer some of those that are left. Profiles, preemption, "
        "extenders, the queue and the operator's rules are the operator's. Predicates are "
        "expressions, and no pod is evicted to fulfil them. So a tenant can never widen what the "
        "operator allows.",
        "# in the ConfigMap of a tenant\nspec:\n  extends: kube-scheduler-default\n"
        "  preemption: {policy: Never}",
        "# in the ConfigMap of a tenant\nspec:\n  predicates:\n"
        "    - {name: ours, expression: \"label(node, 'team') == 'a'\"}",
    ),
    Page(
        "KP136",
        ERROR,
        "more than a tenant may have",
        "All tenants' policies are compiled and loaded together, so each has a bounded part: "
        "documents, bytes, rules, nodes of expressions, and the sum of the weights of its "
        "priorities in a profile (`--tenant-weight`).",
        "# in the ConfigMap of a tenant, with --tenant-weight=10\n"
        "priorities: [{name: ssd, weight: 1000, expression: '1'}]",
        "# in the ConfigMap of a tenant, with --tenant-weight=10\n"
        "priorities: [{name: ssd, weight: 10, expression: '1'}]",
    ),
    Page(
        "KP137",
        ERROR,
        "new node that cannot help",
        "A pod that a rule rejects on every node may wait for a new node only where the rule "
        "could accept one. A rule that reads no fact of nodes says the same of every node, and a "
        "pod that is held is not tried on nodes at all: for the reason `Unschedulable`, "
        "autoscalers would add a node in vain.",
        "predicates:\n  - {name: high, helpedBy: newNode, expression: pod.priority > 1000}",
        "predicates:\n  - {name: high, expression: pod.priority > 1000}",
    ),
    Page(
        "KP138",
        ERROR,
        "order of the queue that orders nothing",
        "`queue.order` gives a number for each pod, and the pod with the smallest is tried first. "
        "An expression without a number, such as one that divides 0 by 0, gives no order; one that "
        "reads nothing of pods and tenants gives all pods the same number.",
        "queue:\n  order: {expression: 0.0 / 0.0}",
        "queue:\n  order: {expression: tenant.share}",
    ),
    Page(
        "KP139",
        ERROR,
        "another tenant than that of the process",
        "Where `--tenant-label` of the process, or `tenantLabel` in its file, says what a tenant "
        "is, the quotas and shares of policies are of the same tenants as the rules that tenants "
        "write. A policy may say the same label or leave it out. Where the process does not say "
        "it, `queue.tenantLabel` counts. `kpolicy lint --tenant-label` checks the same.",
        "# with --tenant-label=example.com/team\nqueue: {tenantLabel: example.com/department}",
        "# with --tenant-label=example.com/team\nqueue: {tenantLabel: example.com/team}",
    ),
    Page(
        "KP142",
        WARNING,
        "mounted with subPath",
        "Kubernetes never updates a volume that is mounted with subPath, so kpolicy would not see "
        "changes of the ConfigMap.",
        "volumeMounts:\n  - {mountPath: /policy.yaml, subPath: policy.yaml}",
        "volumeMounts:\n  - {mountPath: /etc/kpolicy}",
    ),
    Page(
        "KP190",
        WARNING,
        "unused suppression",
        "The comment silences a finding that does not exist any more.",
        "predicates:\n  - {name: a, expression: node.ready}  # kpolicy: ignore[KP301]",
        "predicates:\n  - {name: a, expression: node.ready}",
    ),
)
