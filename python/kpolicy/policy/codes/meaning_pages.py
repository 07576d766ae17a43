"""Pages of the codes KP3xx, KP5xx and KP6xx: meaning, tests, snapshots and scenarios, legacy
import."""

from __future__ import annotations

from typing import Final

from kpolicy.policy.codes import ERROR, WARNING, Page

MEANING_PAGES: Final = (
    Page(
        "KP301",
        WARNING,
        "unguarded lookup",
        "In CEL it is an error to look up a key that does not exist. If a predicate has an error, "
        "it rejects the node; if a priority has an error, it scores 0. A test for the key "
        "anywhere in the rule is enough: `'k' in m && …`, `!('k' in m) || …`, `? :`, `label(x, "
        "'k')`, a condition of the rule, or, for a score, a predicate of the policy. A rule with "
        "`onError` is not reported. What `node.domain('k')` reads is there on nodes with the label "
        "`k` only.",
        "node.labels['zone'] == 'a'",
        "label(node, 'zone') == 'a'",
    ),
    Page(
        "KP303",
        WARNING,
        "constant condition",
        "The condition has the same value for all pods and nodes: it is a literal, its parts "
        "exclude or include each other, or it compares what a function or a fact can never be: no "
        "`size(x)` is below 0, and no `getHours()` of a time above 23. Params and variables are "
        "not reported, because policies use them as switches. It is an error if a predicate "
        "without conditions would reject every node for every pod.",
        "pod.name == 'a' && pod.name == 'b'",
        "pod.name == 'a' || pod.name == 'b'",
    ),
    Page(
        "KP304",
        WARNING,
        "rule that never differs on the snapshot",
        "On the recorded cluster the rule passes every node, or rejects every node, for all pods "
        "of the snapshot. Reported with `--snapshot` only, and not of rules that read `now`, as a "
        "snapshot is of one moment.",
        "label(node, 'zoen') == ''",
        "label(node, 'zone') == ''",
    ),
    Page(
        "KP305",
        ERROR,
        "always an error",
        "This part fails for every pod and every node.",
        "node.free('cpu') / 0 > 5",
        "node.free('cpu') / 2 > 5",
    ),
    Page(
        "KP306",
        WARNING,
        "same as, or implied by, an earlier rule",
        "Every node that passes the earlier rule also passes this rule, so it has no effect. A "
        "priority that is written twice counts twice.",
        "predicates:\n  - {name: a, expression: node.ready}\n  - {name: b, expression: node.ready}",
        "predicates:\n  - {name: a, expression: node.ready}",
    ),
    Page(
        "KP307",
        WARNING,
        "contradicts a built-in or another rule",
        "No node can pass both this rule and a built-in of the same profile, or both this rule "
        "and an earlier rule.",
        "predicates:\n  - builtin: NodeUnschedulable\n"
        "  - {name: a, expression: node.unschedulable}",
        "predicates:\n  - builtin: NodeUnschedulable\n  - {name: a, expression: node.ready}",
    ),
    Page(
        "KP312",
        WARNING,
        "not in the snapshot",
        "No node or pod of the recorded cluster has this label, taint, resource or namespace, or "
        "it has no such tenant, DeviceClass, driver of devices or attribute of one. The value of a "
        "label is reported if the cluster has a similar value. Reported with `--snapshot` only.",
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
        "Scores are limited to 0-100. Without `normalize`, most nodes would have the highest "
        "score. Shares such as `ratio(a, b)` are between 0 and 1, and cut to whole numbers as all "
        "scores are: multiply them by 100.0. A rule with `normalize`, also with `none`, is not "
        "reported.",
        "priorities:\n  - {name: spare, expression: node.free('cpu')}",
        "priorities:\n  - {name: spare, expression: node.free('cpu'), normalize: {method: max}}",
    ),
    Page(
        "KP323",
        WARNING,
        "score that never differs",
        "A score that is equal on all nodes has no effect. Either it reads nothing of the node, "
        "or `--snapshot` shows that it is the same on all nodes of the recorded cluster.",
        "priorities:\n  - {name: same, expression: '50'}",
        "priorities:\n  - {name: ssd, expression: \"label(node, 'disk') == 'ssd' ? 100 : 0\"}",
    ),
    Page(
        "KP324",
        WARNING,
        "weight that outweighs all others",
        "The weight of one priority is more than fifty times the sum of all others, so the others "
        "only decide between equal scores. If this is the intention, a predicate expresses it "
        "more clearly.",
        "priorities:\n  - {builtin: ImageLocality, weight: 1}\n"
        "  - {builtin: NodeAffinity, weight: 5000}",
        "priorities:\n  - {builtin: ImageLocality, weight: 1}\n"
        "  - {builtin: NodeAffinity, weight: 5}",
    ),
    Page(
        "KP325",
        WARNING,
        "fields of pods or nodes that are ignored",
        "The policy has no rule that keeps to these fields, because it says `base: none` or "
        "removes a built-in of its base. A pod then runs on nodes that it excludes, or that "
        "cannot run it. A legacy file without `PodFitsResources` is reported too.",
        "predicates:\n  - {builtin: NodeAffinity, enabled: false}",
        "predicates:\n  - {builtin: NodeAffinity, args: {addedAffinity: {requiredDuringScheduling"
        "IgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: "
        "Exists}]}]}}}}",
    ),
    Page(
        "KP326",
        WARNING,
        "share of whole numbers",
        "CEL divides whole numbers without a rest: a part divided by its whole is 0 until both "
        "are equal, and so is what it is multiplied with afterwards. Multiply first, or use "
        "`100.0 * ratio(a, b)`. `kpolicy lint --fix --unsafe-fixes` multiplies first, which "
        "changes the scores.",
        "priorities:\n  - {name: a, expression: \"node.requested('cpu') / node.allocatable('cpu') "
        '* 100"}',
        "priorities:\n  - {name: a, expression: \"100 * node.requested('cpu') / "
        "node.allocatable('cpu')\"}",
    ),
    Page(
        "KP327",
        WARNING,
        "quantities compared as text",
        "`<` and `>` compare texts letter by letter, so that '9Gi' is greater than '16Gi'. "
        "`quantity(a).compareTo(quantity(b))` is negative, 0 or positive. "
        "`kpolicy lint --fix --unsafe-fixes` writes it.",
        "label(node, 'gpu-memory') >= '16Gi'",
        "'gpu-memory' in node.labels && "
        "quantity(node.labels['gpu-memory']).compareTo(quantity('16Gi')) >= 0",
    ),
    Page(
        "KP328",
        WARNING,
        "weight that changes no decision",
        "With `--snapshot`: every pod that was asked about has the same best nodes without this "
        "score, because the other scores differ by more. The hint is the smallest weight that "
        "would change a decision.",
        "priorities:\n"
        "  - {name: ssd, weight: 1, expression: \"label(node, 'disk') == 'ssd' ? 1 : 0\"}",
        "priorities:\n"
        "  - {name: ssd, weight: 5, expression: \"label(node, 'disk') == 'ssd' ? 100 : 0\"}",
    ),
    Page(
        "KP331",
        WARNING,
        "message that can fail or is too long",
        "If `messageExpression` has an error, the text of `message` is shown instead. The message "
        "is evaluated only where the predicate is false, so that the opposite of the predicate "
        "guards its lookups. Events have room for 256 bytes.",
        "predicates:\n  - name: a\n    expression: node.ready\n"
        "    messageExpression: \"'rack ' + node.labels['rack']\"",
        "predicates:\n  - name: a\n    expression: node.ready\n"
        "    messageExpression: \"'rack ' + label(node, 'rack')\"",
    ),
    Page(
        "KP332",
        WARNING,
        "message or reason of the wrong form",
        "An event shows one line. A reason is a word in CamelCase, as in the Kubernetes API.",
        "predicates:\n  - {name: a, expression: node.ready, reason: not ready}",
        "predicates:\n  - {name: a, expression: node.ready, reason: NotReady}",
    ),
    Page(
        "KP341",
        WARNING,
        "predicate that may change each minute",
        "Pods that a predicate rejects are judged again whenever it may say something else. The "
        "edges of a window are known before; of other uses of `now`, each minute may be one.",
        "now.getHours('Europe/Berlin') >= 22",
        "now.within('0 22 * * *', duration('2h'), 'Europe/Berlin')",
    ),
    Page(
        "KP351",
        WARNING,
        "changing fact marked `preemptible: false`",
        "Evicting pods can change what this rule reads, so preemption could help.",
        "predicates:\n  - {name: room, preemptible: false, expression: node.free('cpu') > 0}",
        "predicates:\n  - {name: room, expression: node.free('cpu') > 0}",
    ),
    Page(
        "KP352",
        WARNING,
        "setting of preemption without effect",
        "With `policy: Never` no pod is evicted for another, so nothing that is said of victims "
        "counts, and no devices are freed (`freesDevices`).",
        "preemption: {policy: Never, freesDevices: true}",
        "preemption: {policy: LowerPriority, freesDevices: true}",
    ),
    Page(
        "KP361",
        WARNING,
        "condition that a profile expresses better",
        "The condition has the same value for every pod of the profile.",
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
        "A test without expectations cannot fail, and a document without tests checks nothing.",
        "expect: {}",
        "expect: {decision: place}",
    ),
    Page(
        "KP503",
        WARNING,
        "rule not tested both ways",
        "No test shows that this rule both passes and rejects nodes.",
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
        "KP510",
        ERROR,
        "scenario that names what it does not have",
        "A Scenario refers to its groups of nodes, its kinds of pods and its nodes by name, and "
        "`--set` to its fields by a path such as `nodes.worker.count`.",
        "arrivals: [{pods: wbe, perHour: 60}]",
        "arrivals: [{pods: web, perHour: 60}]",
    ),
    Page(
        "KP511",
        ERROR,
        "scenario in which nothing can happen",
        "A Scenario needs nodes, and pods that come: `arrivals`, a `trace`, or a `snapshot`.",
        "nodes: [{name: worker, count: 0}]",
        "nodes: [{name: worker, count: 3}]",
    ),
    Page(
        "KP512",
        ERROR,
        "trace or snapshot of a scenario that cannot be read",
        "A trace is a CSV file in UTF-8. Its first line names the columns: `time` (needed), "
        "`template`, `duration`, `priority`, `namespace`, and resources. Times and durations are "
        "seconds, or have units.",
        "time,template,cpu\nsoon,web,1",
        "time,template,cpu\n90,web,1",
    ),
    Page(
        "KP601",
        WARNING,
        "legacy name that never worked",
        "In the release that it comes from, the name was not registered or had no effect.",
        '{"name": "PodToleratesNodeNoExecuteTaints"}',
        '{"name": "PodToleratesNodeTaints"}',
    ),
    Page(
        "KP602",
        WARNING,
        "meaning chosen among releases",
        "Releases of kube-scheduler disagree here. The message says which meaning kpolicy uses; "
        '`compatibility: {release: "1.N"}` in the file selects another one.',
        '{"kind": "Policy"}',
        '{"kind": "Policy", "predicates": [], "priorities": []}',
    ),
    Page(
        "KP603",
        ERROR,
        "legacy argument that cannot be expressed",
        "The argument is missing, empty, given twice, or belongs to another rule.",
        '{"name": "Region", "argument": {"serviceAffinity": {"label": "region"}}}',
        '{"name": "Region", "argument": {"serviceAffinity": {"labels": ["region"]}}}',
    ),
    Page(
        "KP604",
        WARNING,
        "kube-scheduler setting without effect here",
        "kpolicy reads the plugin or setting, but does this part in its own way.",
        "plugins: {queueSort: {enabled: [{name: Coscheduling}]}}",
        "plugins: {}",
    ),
    Page(
        "KP605",
        ERROR,
        "nothing to convert",
        "The document is a SchedulingPolicy already. `kpolicy convert` converts documents of "
        "other kinds.",
        "kpolicy convert policy.yaml",
        "kpolicy convert scheduler.json",
    ),
    Page(
        "KP606",
        ERROR,
        "version of KubeSchedulerConfiguration that is not read",
        "kpolicy reads v1, v1beta3 and v1beta2, each with the defaults of that version. In "
        "earlier versions plugins and arguments have other names and meanings, and no release "
        "since 1.24 reads them.",
        "apiVersion: kubescheduler.config.k8s.io/v1beta1\nkind: KubeSchedulerConfiguration",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration",
    ),
    Page(
        "KP607",
        WARNING,
        "extender whose certificate is not verified",
        "With `enableHTTPS` and no certificate authority, kube-scheduler accepts any certificate, "
        "so whoever can answer at the address gets the pods. kpolicy does the same for files of "
        "kube-scheduler. In a SchedulingPolicy, the authorities of the system count unless "
        "`insecure` is true.",
        '{"urlPrefix": "https://licences:8443", "enableHTTPS": true}',
        '{"urlPrefix": "https://licences:8443", "enableHTTPS": true, '
        '"tlsConfig": {"caFile": "/etc/licences/ca.crt"}}',
    ),
    Page(
        "KP608",
        WARNING,
        "left out of a configuration of kube-scheduler",
        "`kpolicy convert --to kube-scheduler` writes the plugins that kube-scheduler has. It has "
        "no expressions, no conditions on pods, and a plugin once in a profile. What it cannot "
        "have is left out, so kube-scheduler will decide otherwise where it matters.",
        "kpolicy convert --to kube-scheduler gpu-pools",
        "kpolicy convert --to kube-scheduler bin-packing",
    ),
    Page(
        "KP609",
        WARNING,
        "release of Kubernetes that is not followed",
        "kpolicy decides as kube-scheduler of some releases does. The cluster, the policy or "
        "`--release` names another one: it takes the nearest that it follows, which may decide "
        "differently in places.",
        'compatibility: {release: "1.99"}',
        'compatibility: {release: "1.37"}',
    ),
    Page(
        "KP610",
        ERROR,
        "feature gate that is not honoured",
        "The release has no such feature gate, cannot be without it, or kpolicy does not honour "
        "it. A gate that says what the release does by default is accepted.",
        "compatibility: {featureGates: {GenericWorkload: true}}",
        "compatibility: {featureGates: {TaintTolerationComparisonOperators: true}}",
    ),
)
