"""`kpolicy simulate`: shows where all pending pods of a snapshot would go, one after the other."""

from __future__ import annotations

import argparse
import json
from typing import Final

from kpolicy.cli.flags import DECISION, OUTPUT
from kpolicy.cli.inputs import ask_engine
from kpolicy.cli.outputs import progress_bar
from kpolicy.cli.verb import Verb

_EPILOG: Final = """\
In queue order: priority, creation, name. Every pod sees those placed before it; nothing is evicted.

exit: 0 simulated, whatever became of the pods; 1 the policy has errors; 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    from kpolicy.offline.answers.simulate import Simulating
    from kpolicy.offline.reports.decision_text import pods_text, simulation_text

    work = ask_engine(args, lambda held, program: Simulating(held, program, seed=args.seed))
    with progress_bar("placing pods") as progress:
        if args.output == "json":
            for pod in work.pods(progress):
                print(json.dumps(pod.line(), ensure_ascii=False))
            print(json.dumps(work.summary().line(), ensure_ascii=False))
            return 0
        pods = list(work.pods(progress))
        summary = work.summary()
    print("\n".join([*pods_text(pods), "", *simulation_text(summary)][not pods :]))
    return 0


VERB: Final = Verb(
    "simulate",
    "Place all pending pods of a snapshot that the policy serves, and sum up.",
    _main,
    (*DECISION, OUTPUT),
    _EPILOG,
)
