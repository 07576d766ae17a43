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
        "Expressions see the facts of the catalogue, the declared params and variables, and the "
        "functions of CEL and its Kubernetes libraries. The hint names the nearest ones.",
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
        "A predicate gives a bool, a priority a number, a message a string.",
        "predicates:\n  - {name: a, expression: pod.priority}",
        "predicates:\n  - {name: a, expression: pod.priority > 0}",
    ),
    Page(
        "KP204",
        ERROR,
        "no matching overload",
        "CEL does not convert between types by itself, so the operator or function does not exist "
        "for these operands.",
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
        WARNING,
        "comparison of types that are never equal",
        "`==` between values of different types is always false.",
        "pod.priority == 'high'",
        "pod.priorityClassName == 'high'",
    ),
    Page(
        "KP207",
        ERROR,
        "literal that cannot be read",
        "A number out of range, or a quantity, duration, selector or pattern that is not one.",
        "node.free('memory') > units('2GB')",
        "node.free('memory') > units('2Gi')",
    ),
    Page(
        "KP208",
        WARNING,
        "type not known before it runs",
        "`dyn` reached the result, so a wrong type shows only when a pod is scheduled.",
        "dyn(pod.priority)",
        "pod.priority",
    ),
    Page(
        "KP209",
        ERROR,
        "object where a value is wanted",
        "A pod, a node, the cluster, a domain, and the pods of a domain or of the cluster are "
        "asked for what they hold. They cannot be compared, listed or looped over; the pods of one "
        "node (`node.pods`) can.",
        "cluster.pods.exists(p, p.labels['tier'] == 'high')",
        "cluster.pods.count(selector({'tier': 'high'})) > 0",
    ),
    Page(
        "KP401",
        ERROR,
        "cost above the limit",
        "The worst case of this expression would slow every cycle down, or is more than the policy "
        "allows for all nodes together (`limits.costPerCycle`). Loops over pods inside loops over "
        "pods are the usual reason; a count by selector costs nothing. With "
        "`limits.allowQuadratic` loops inside loops are limited by what they cost on each node "
        "(KR110) and not by their worst case.",
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
        "leaves the columnar path",
        "This part is evaluated node by node instead of for all nodes at once, or once for all "
        "nodes that are alike. It costs time in every cycle.",
        "node.pods.exists(p, p.priority < pod.priority)",
        "node.pods.count(selector('tier=batch')) > 0",
    ),
    Page(
        "KP404",
        WARNING,
        "reads an annotation",
        "Annotations are large, change often and have no column of their own.",
        "node.annotations[?'pool'].orValue('') == 'a'",
        "label(node, 'pool') == 'a'",
    ),
)


RUNTIME_PAGES: Final = (
    Page(
        "KR101",
        ERROR,
        "no overload for these types",
        "A value of type `dyn` turned out to have a type that the operator or function does not "
        "take. Types that are known beforehand are checked by `kpolicy lint`.",
        "dyn(node.labels['generation']) > 7",
        "int(label(node, 'generation')) > 7",
    ),
    Page(
        "KR102",
        ERROR,
        "no such key",
        "A map has no such key, or an object no such field: most often a label that this node or "
        "pod does not have. `kpolicy lint` tells unguarded lookups (KP301).",
        "node.labels['rack'] == pod.labels['rack']",
        "label(node, 'rack') == label(pod, 'rack')",
    ),
    Page(
        "KR103",
        ERROR,
        "division by zero",
        "The divisor of `/` or `%` is zero for this node, for example where it has none of a "
        "resource. `ratio` gives 0 then.",
        "node.requested('example.com/gpu') / node.allocatable('example.com/gpu') < 1",
        "ratio(node.requested('example.com/gpu'), node.allocatable('example.com/gpu')) < 1.0",
    ),
    Page(
        "KR104",
        ERROR,
        "number out of 64 bits",
        "A result does not fit into 64 bits. Memory is counted in bytes, so products of two "
        "amounts overflow soon; numbers of type double do not.",
        "node.free('memory') * node.free('memory') > 0",
        "double(node.free('memory')) * double(node.free('memory')) > 0.0",
    ),
    Page(
        "KR105",
        ERROR,
        "out of range",
        "An index is outside of its list or text, or a number outside of what a conversion or "
        "function takes.",
        "pod.tolerations[0].key == 'spot'",
        "pod.tolerations.exists(t, t.key == 'spot')",
    ),
    Page(
        "KR106",
        ERROR,
        "text that is no value of the type",
        "A text cannot be read as the number, time, duration, quantity or pattern that is asked "
        "for. Labels and annotations hold whatever somebody wrote.",
        "int(node.labels['generation']) >= 7",
        "label(node, 'generation').matches('^[0-9]{1,9}$')\n"
        "  && int(label(node, 'generation')) >= 7",
    ),
    Page(
        "KR107",
        ERROR,
        "key given twice",
        "A map that the expression makes has the same key twice.",
        "{label(node, 'a'): 1, label(node, 'b'): 2}.size() == 2",
        "[label(node, 'a'), label(node, 'b')].size() == 2",
    ),
    Page(
        "KR108",
        ERROR,
        "value that a function does not take",
        "An operand has the right type and a value that cannot be used there, for example a key of "
        "a map that is neither bool, int, uint nor string.",
        "{dyn(0.5): 'half'}.size() == 1",
        "{'0.5': 'half'}.size() == 1",
    ),
    Page(
        "KR109",
        ERROR,
        "fact that is not known",
        "The expression reads something that the engine does not hold at that moment.",
        "node.pods.exists(p, 'x' in p.labels)",
        "node.pods.count(selector('x')) > 0",
    ),
    Page(
        "KR110",
        ERROR,
        "cost limit reached",
        "Evaluating took more steps than a policy may spend on one node; or, on as many nodes as "
        "there are, the worst case of this rule and those before it is more than a policy may "
        "spend in a cycle (`limits.costPerCycle`), and then no node is looked at. Counting by "
        "selectors is much cheaper than a loop over pods.",
        "node.pods.all(p, node.pods.all(q, p.labels == q.labels))",
        "node.pods.count(selector('app=web')) < 3",
    ),
)
