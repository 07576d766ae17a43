"""An extender of the simulated world, which filters, scores and takes part in choosing victims, and
the faults in its answers.

Its one rule is to refuse certain nodes by name, so that an answer can never be outdated. Also has
the policies that name it. The network brings it connections.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from enum import Enum
from random import Random
from typing import Any, Final

from kpolicy.testing.apiserver.api_calls import TEXT, Answer, Request
from kpolicy.testing.apiserver.http_server import HttpServer, Reply
from tests.simulation.network import End
from tests.simulation.policies import PolicyText, policy_text

ADDRESS: Final = ("10.0.0.9", 8888)
# The numbers of nodes that it refuses. Names of nodes have no other numbers.
_REFUSES: Final = 1
_OF: Final = 4
_NODES_MAX: Final = 80
_REFUSED: Final = tuple(
    ("kubernetes.io/hostname", f"node-{number}") for number in range(_REFUSES, _NODES_MAX, _OF)
)
TIMEOUT_S: Final = 2
SLOW_S: Final = (0.5, 1.5, 3.0, 6.0)


def _extender(*, ignorable: bool, knows_nodes: bool) -> str:
    return (
        "  extenders:\n"
        f"    - urlPrefix: http://{ADDRESS[0]}:{ADDRESS[1]}/v1\n"
        "      filterVerb: filter\n"
        "      prioritizeVerb: prioritize\n"
        "      preemptVerb: preempt\n"
        "      weight: 2\n"
        f"      httpTimeout: {TIMEOUT_S}s\n"
        f"      nodeCacheCapable: {str(knows_nodes).lower()}\n"
        f"      ignorable: {str(ignorable).lower()}\n"
    )


ASKING: Final = (
    PolicyText("asks", policy_text("asks", _extender(ignorable=False, knows_nodes=True)), _REFUSED),
    PolicyText(
        "asks-whole",
        policy_text("asks-whole", _extender(ignorable=False, knows_nodes=False)),
        _REFUSED,
    ),
    PolicyText(
        "may-ask",
        policy_text("may-ask", _extender(ignorable=True, knows_nodes=True)),
        shuns=_REFUSED,
    ),
)
MAY_ASK: Final = ASKING[-1]


class Fault(Enum):
    NONE = "extender well"
    FAILING = "extender answers 500"
    ERROR = "extender tells an error"
    GARBAGE = "extender answers garbage"
    CUT = "extender breaks off"
    SILENT = "extender silent"
    SLOW = "extender slow"


class SimulatedExtender:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._http = HttpServer(self._handle)
        self.fault = Fault.NONE
        self.asked: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.acts: dict[Callable[[], Coroutine[Any, Any, None]], int] = {self.trouble: 10}

    async def trouble(self) -> None:
        before, self.fault = self.fault, self._random.choice(list(Fault)[1:])
        self.counts[self.fault.value] += 1
        await asyncio.sleep(self._random.choice((1.0, 5.0, 20.0)))
        self.fault = before

    def accept(self, end: End) -> asyncio.Protocol:
        del end
        return self._http.protocol()

    def _handle(self, request: Request, reply: Reply) -> Answer | None:
        verb = request.path.rpartition("/")[2]
        self.asked[verb] += 1
        match self.fault:
            case Fault.FAILING:
                return Answer(500, b"no", TEXT)
            case Fault.GARBAGE:
                return Answer(200, b'{"NodeNames": 7, [')
            case Fault.ERROR if verb == "filter":
                return _json({"Error": "the extender is out of order"})
            case Fault.CUT:
                reply.cut()
                return None
            case Fault.SILENT:
                return None
            case Fault.SLOW:
                answer = self._answer(verb, json.loads(request.body))
                after_s = self._random.choice(SLOW_S)
                reply.loop.call_later(after_s, self._late, reply, answer)
                return None
        return self._answer(verb, json.loads(request.body))

    def _late(self, reply: Reply, answer: Answer) -> None:
        if not reply.closed:
            reply.answer(answer)

    def _answer(self, verb: str, args: dict[str, Any]) -> Answer:
        if verb == "preempt":
            # It accepts all: a node that it refuses was refused by the filter before.
            left = args.get("NodeNameToMetaVictims") or {
                node: {
                    "Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]],
                    "NumPDBViolations": victims["NumPDBViolations"],
                }
                for node, victims in args["NodeNameToVictims"].items()
            }
            return _json({"NodeNameToMetaVictims": left})
        nodes = (args.get("Nodes") or {}).get("items")
        whole = {node["metadata"]["name"]: node for node in nodes or ()}
        names = list(whole) if args.get("NodeNames") is None else args["NodeNames"]
        if verb == "prioritize":
            return _json([{"Host": name, "Score": len(name) % 5} for name in names])
        kept = [name for name in names if is_kept(name)]
        failed = {name: "never there" for name in names if not is_kept(name)}
        answer: dict[str, Any] = {"FailedAndUnresolvableNodes": failed}
        if args.get("NodeNames") is None:
            answer["Nodes"] = {"items": [whole[name] for name in kept]}
        else:
            answer["NodeNames"] = kept
        return _json(answer)


def is_kept(node: str) -> bool:
    number = node.rpartition("-")[2]
    return not number.isdigit() or int(number) % _OF != _REFUSES


def _json(document: Any) -> Answer:
    return Answer(200, json.dumps(document).encode())
