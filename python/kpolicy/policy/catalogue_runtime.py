"""Pages of KR1xx: what can go wrong when an expression is evaluated for a pod and a node.

Owns the texts; the engine owns the codes, one for each kind of error it can report. Assumes the
form of `Page`. Must not know how an expression is evaluated.
"""

from __future__ import annotations

from typing import Final

from kpolicy.policy.catalogue_page import ERROR, Page

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
