"""Pages of KP2xx and KP4xx: types and cost of expressions.

KR1xx are errors of expressions while pods are scheduled; the engine reports them.
"""

from __future__ import annotations

from typing import Final

from kpolicy.policy.codes import ERROR, WARNING, Page

EXPRESSION_PAGES: Final = (
    Page(
        "KP201",
        ERROR,
        "unknown fact or function",
        "Expressions can use the facts that kpolicy documents, the declared params and variables, "
        "and the functions of CEL and its Kubernetes libraries. The hint names the most similar "
        "one.",
        "node.freee('cpu') > 5",
        "node.free('cpu') > 5",
    ),
    Page(
        "KP202",
        ERROR,
        "wrong number of arguments",
        "The function exists, but not with this many arguments.",
        "node.free() > 0",
        "node.free('cpu') > 0",
    ),
    Page(
        "KP203",
        ERROR,
        "result of the wrong type",
        "The result of a predicate is a bool, that of a priority a number, and that of a message "
        "a string.",
        "predicates:\n  - {name: a, expression: pod.priority}",
        "predicates:\n  - {name: a, expression: pod.priority > 0}",
    ),
    Page(
        "KP204",
        ERROR,
        "no matching overload",
        "CEL does not convert between types by itself. The operator or function does not exist "
        "for operands of these types.",
        "pod.request('cpu') > '500m'",
        "pod.request('cpu') > cpu('500m')",
    ),
    Page(
        "KP205",
        ERROR,
        "field of a value that has none",
        "Only objects and maps have fields.",
        "pod.name.length > 3",
        "size(pod.name) > 3",
    ),
    Page(
        "KP206",
        ERROR,
        "comparison of types that are never equal",
        "`==` between values of different types is always false, and `!=` always true: the rule "
        "asks nothing. `kpolicy eval` answers as CEL does, and warns.",
        "pod.priority == 'high'",
        "pod.priorityClassName == 'high'",
    ),
    Page(
        "KP207",
        ERROR,
        "literal that cannot be read",
        "The number is out of range, or the text is not a quantity, duration, selector or pattern.",
        "node.free('memory') > units('2GB')",
        "node.free('memory') > units('2Gi')",
    ),
    Page(
        "KP208",
        WARNING,
        "type not known before it runs",
        "The type of the result is `dyn`, so a wrong type is only noticed when a pod is scheduled.",
        "dyn(pod.priority)",
        "pod.priority",
    ),
    Page(
        "KP209",
        ERROR,
        "object where a value is needed",
        "A pod, a node, the cluster or a domain is not a value: it cannot be compared, listed or "
        "looped over. Read one of its members. The pods of one node (`node.pods`) can be looped "
        "over; the pods of a domain or of the cluster cannot.",
        "cluster.pods.exists(p, p.labels['tier'] == 'high')",
        "cluster.pods.count(selector({'tier': 'high'})) > 0",
    ),
    Page(
        "KP401",
        ERROR,
        "cost above the limit",
        "In the worst case this expression would slow down every cycle, or costs more than the "
        "policy allows for all nodes together (`limits.costPerCycle`). The usual reason is a loop "
        "over pods inside another loop over pods; a count by selector costs almost nothing. With "
        "`limits.allowQuadratic` the worst case of such loops is not limited, but their real cost "
        "on each node is (KR110).",
        "node.pods.all(p, node.pods.all(q, p.labels == q.labels))",
        "node.pods.count(selector({'app': pod.labels['app']})) == 0",
    ),
    Page(
        "KP402",
        ERROR,
        "pattern that is not constant",
        "Regular expressions are compiled once, when the policy is loaded.",
        "node.name.matches(pod.labels['rx'])",
        "node.name.matches('^spot-')",
    ),
    Page(
        "KP403",
        WARNING,
        "evaluated node by node",
        "This part is evaluated for each node separately, instead of for all nodes at once or "
        "once for all equal nodes. It takes time in every cycle.",
        "node.pods.exists(p, p.priority < pod.priority)",
        "node.pods.count(selector('tier=batch')) > 0",
    ),
    Page(
        "KP404",
        WARNING,
        "reads an annotation",
        "Annotations are large, change often, and have no column in the engine.",
        "node.annotations[?'pool'].orValue('') == 'a'",
        "label(node, 'pool') == 'a'",
    ),
)


RUNTIME_PAGES: Final = (
    Page(
        "KR101",
        ERROR,
        "no overload for these types",
        "At run time, a value of type `dyn` has a type that the operator or function does not "
        "accept. `kpolicy lint` checks the types that are known before.",
        "dyn(node.labels['generation']) > 7",
        "int(label(node, 'generation')) > 7",
    ),
    Page(
        "KR102",
        ERROR,
        "no such key",
        "A map does not have this key, or an object does not have this field. Most often it is a "
        "label that this node or pod does not have. `kpolicy lint` reports lookups without a test "
        "(KP301).",
        "node.labels['rack'] == pod.labels['rack']",
        "label(node, 'rack') == label(pod, 'rack')",
    ),
    Page(
        "KR103",
        ERROR,
        "division by zero",
        "The divisor of `/` or `%` is zero on this node, for example because the node has none of "
        "a resource. `ratio` returns 0 in this case.",
        "node.requested('example.com/gpu') / node.allocatable('example.com/gpu') < 1",
        "ratio(node.requested('example.com/gpu'), node.allocatable('example.com/gpu')) < 1.0",
    ),
    Page(
        "KR104",
        ERROR,
        "number that does not fit into 64 bits",
        "The result does not fit into 64 bits. Memory is counted in bytes, so the product of two "
        "amounts is soon too large. Numbers of type double do not overflow.",
        "node.free('memory') * node.free('memory') > 0",
        "double(node.free('memory')) * double(node.free('memory')) > 0.0",
    ),
    Page(
        "KR105",
        ERROR,
        "out of range",
        "An index is outside of its list or text, or a number is outside of the range that a "
        "conversion or function accepts.",
        "pod.tolerations[0].key == 'spot'",
        "pod.tolerations.exists(t, t.key == 'spot')",
    ),
    Page(
        "KR106",
        ERROR,
        "text that is not a value of the type",
        "The text is not a valid number, time, duration, quantity or pattern. Labels and "
        "annotations can hold any text.",
        "int(node.labels['generation']) >= 7",
        "label(node, 'generation').matches('^[0-9]{1,9}$')\n"
        "  && int(label(node, 'generation')) >= 7",
    ),
    Page(
        "KR107",
        ERROR,
        "key given twice",
        "The expression makes a map in which the same key occurs twice.",
        "{label(node, 'a'): 1, label(node, 'b'): 2}.size() == 2",
        "[label(node, 'a'), label(node, 'b')].size() == 2",
    ),
    Page(
        "KR108",
        ERROR,
        "value that a function does not accept",
        "An operand has the right type, but a value that cannot be used here, for example a key "
        "of a map that is neither bool, int, uint nor string.",
        "{dyn(0.5): 'half'}.size() == 1",
        "{'0.5': 'half'}.size() == 1",
    ),
    Page(
        "KR109",
        ERROR,
        "fact that is not known",
        "The expression reads a value that the engine does not have at this moment.",
        "node.pods.exists(p, 'x' in p.labels)",
        "node.pods.count(selector('x')) > 0",
    ),
    Page(
        "KR110",
        ERROR,
        "cost limit reached",
        "The evaluation took more steps than a policy may use on one node. The message quotes the "
        "part of the expression that needed most, with its units. Or, for the number of "
        "nodes in the cluster, the worst case of this rule and the rules before it is more than a "
        "policy may use in a cycle (`limits.costPerCycle`); then the rule is not evaluated on any "
        "node. A count by selector is much cheaper than a loop over pods.",
        "node.pods.all(p, node.pods.all(q, p.labels == q.labels))",
        "node.pods.count(selector('app=web')) < 3",
    ),
    Page(
        "KR111",
        ERROR,
        "no number",
        "`queue.order` gave NaN for a pod, for example because 0 was divided by 0. The pod is "
        "tried after those that have a number. `/debug/queue` names such a pod.",
        "queue:\n  order: {expression: double(tenant.pods) / double(tenant.waiting)}",
        "queue:\n  order: {expression: double(tenant.pods) / double(1 + tenant.waiting)}",
    ),
)
