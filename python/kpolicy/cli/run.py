"""`kpolicy run`: the live scheduler as a process.

Owns its flags and variables, signals, the exit status, and the one line for what the user can mend.
Assumes it is the only thing in its process. Everything else is `kpolicy.scheduler.run`.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.param_flag import add_param_flag, params_of
from kpolicy.version import VERSION

if TYPE_CHECKING:
    from kpolicy.diagnostics import Diagnostic
    from kpolicy.scheduler.options import Options
    from kpolicy.scheduler.problem import Problem
    from kpolicy.scheduler.run import Scheduler
    from kpolicy.telemetry.traces import Traces

DESCRIPTION: Final = """\
Serve the pending pods whose schedulerName a policy's profile names, until told to stop.
Every flag can be given as a variable too: --log-format is KPOLICY_LOG_FORMAT, and so on; several
policies in KPOLICY_POLICY are separated by colons, several params in KPOLICY_PARAM by line ends.
Traces go where the standard OTEL_* variables say. SIGHUP reads the policies again, and ConfigMaps
that they take params from; so does a change of their content. SIGTERM and SIGINT stop."""
# The whole way out is promised to take less than eight seconds, whatever hangs.
EXIT_S_MAX: Final = 7.8


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "run",
        help="schedule the pods of a cluster",
        description=DESCRIPTION,
        epilog="exit: 0 stopped, 1 the policy has errors or a restart is needed, 2 could not work",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_what(parser)
    _add_how(parser)


def _default(name: str, otherwise: str | None = None) -> str | None:
    return os.environ.get(f"KPOLICY_{name}") or otherwise


def _add_what(parser: argparse.ArgumentParser) -> None:
    policies = _default("POLICY")
    parser.add_argument(
        "--policy", action="append", type=Path, metavar="FILE|DIR",
        help="a policy, or a folder of them; repeatable (default: kube-scheduler-default)",
    )  # fmt: skip
    parser.set_defaults(
        policy_default=[Path(part) for part in policies.split(os.pathsep)] if policies else []
    )
    add_param_flag(parser)
    parser.add_argument("--kubeconfig", type=Path, default=_default("KUBECONFIG"), metavar="FILE")
    parser.add_argument("--context", default=_default("CONTEXT"), metavar="NAME")
    parser.add_argument(
        "--seed", type=int, default=_default("SEED"), help="make ties fall the same way each time"
    )
    parser.add_argument(
        "--once", action="store_true", default=_yes(_default("ONCE")),
        help="place what can be placed now, then stop",
    )  # fmt: skip


def _add_how(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bind-address", default=_default("BIND_ADDRESS", "127.0.0.1"), metavar="ADDRESS",
        help="where /metrics and /healthz are served (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--port", type=int, default=_default("PORT", "10259"),
        help="its port; 0 for none (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--leader-elect", action=argparse.BooleanOptionalAction,
        default=_yes(_default("LEADER_ELECT", "true")),
        help="act only while holding a Lease, so that replicas take turns (default: yes)",
    )  # fmt: skip
    parser.add_argument(
        "--lease-namespace", default=_default("LEASE_NAMESPACE", "kube-system"), metavar="NAMESPACE"
    )
    parser.add_argument("--lease-name", default=_default("LEASE_NAME", "kpolicy"), metavar="NAME")
    parser.add_argument(
        "--log-format", choices=("auto", "json", "text"), default=_default("LOG_FORMAT", "auto"),
        help="auto: text on a terminal, else a JSON object a line (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"),
        default=_default("LOG_LEVEL", "info"), help="(default: %(default)s)",
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    from kpolicy.telemetry import logs

    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)  # where every thread is, on stderr
    handler = logs.install(args.log_format, args.log_level)
    try:
        return asyncio.run(_run(args))
    finally:
        logs.uninstall(handler)


async def _run(arguments: argparse.Namespace) -> int:
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.configuration import load_connection
    from kpolicy.cluster.problem import ConnectionProblem
    from kpolicy.policy.compile import compile_policy
    from kpolicy.scheduler.policy_source import FileSource, FixedSource
    from kpolicy.scheduler.problem import of_connection
    from kpolicy.scheduler.run import Scheduler
    from kpolicy.telemetry.limits import TRACE_FLUSH_S

    clock = SystemClock()
    options = _options(arguments)
    wrong = options.checked()
    if wrong is not None:
        return _tell(wrong)
    connections = []
    for _ in range(1 + options.leader_elect):  # the elector's thread shares nothing
        connection = await load_connection(
            os.environ, clock, kubeconfig=arguments.kubeconfig, context=arguments.context
        )
        if isinstance(connection, ConnectionProblem):
            return _tell(of_connection(connection))
        connections.append(connection)
    paths = arguments.policy or arguments.policy_default
    params = dict(arguments.param) or params_of(_default("PARAM") or "")
    traces = _traces()
    scheduler = Scheduler(
        connections[0],
        FileSource(paths, clock) if paths else FixedSource(),
        options,
        clock=clock,
        compile_with=partial(compile_policy, params=params),
        traces=traces,
        lease_connection=connections[-1],
        on_lost=_exit_lost,
    )
    reloads = _handle_signals(scheduler)
    problem = await scheduler.run()
    for task in reloads:
        task.cancel()
    traces.stop(min(TRACE_FLUSH_S, scheduler.stop_left_s(EXIT_S_MAX)) if problem is None else 0.5)
    if problem is None:
        return 0
    reloaded = scheduler.last_reload
    return _tell(problem, reloaded.diagnostics if reloaded is not None else ())


def _options(arguments: argparse.Namespace) -> Options:
    from kpolicy.scheduler.options import Options

    return Options(
        bind_address=arguments.bind_address,
        port=arguments.port,
        leader_elect=arguments.leader_elect,
        lease_namespace=arguments.lease_namespace,
        lease_name=arguments.lease_name,
        seed=arguments.seed,
        once=arguments.once,
    )


def _traces() -> Traces:
    import logging

    from kpolicy.telemetry.exporters import traces_of

    setup = traces_of(os.environ, VERSION, Random())
    log = logging.getLogger(__name__)
    for problem in setup.problems:
        log.warning(problem)
    if setup.exporters:
        log.info("traces go to %s", ", ".join(setup.exporters))
    return setup.traces


def _handle_signals(scheduler: Scheduler) -> set[asyncio.Task[object]]:
    loop = asyncio.get_running_loop()
    reloads: set[asyncio.Task[object]] = set()
    stopping = False

    def stop() -> None:
        nonlocal stopping
        if stopping:  # asked twice: at once
            os._exit(1)
        stopping = True
        timer = threading.Timer(EXIT_S_MAX, os._exit, (1,))
        timer.daemon = True
        timer.start()
        scheduler.stop()

    def reload() -> None:
        if scheduler.policy is not None:
            task: asyncio.Task[object] = loop.create_task(scheduler.reload())
            reloads.add(task)
            task.add_done_callback(reloads.discard)

    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_signal_handler(signal.SIGINT, stop)
    loop.add_signal_handler(signal.SIGHUP, reload)
    return reloads


def _exit_lost() -> None:
    """Another may lead by now: nothing is waited for, not even our own loop."""
    os.write(2, b"kpolicy: KPS301: the lease was lost; a restart is safe\n")
    os._exit(1)


def _tell(problem: Problem, diagnostics: tuple[Diagnostic, ...] = ()) -> int:
    if diagnostics:
        from kpolicy.cli.render import Findings, render

        print(render("concise", Findings.of(diagnostics, ())).rstrip(), file=sys.stderr)
    print(f"kpolicy: {problem}", file=sys.stderr)
    return problem.exit_status


def _yes(text: str | None) -> bool:
    return (text or "").lower() in {"1", "true", "yes", "on"}
