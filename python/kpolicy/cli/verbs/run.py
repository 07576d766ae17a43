"""`kpolicy run`: the live scheduler as a process, with its signals and its exit code.

Nothing else runs in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import faulthandler
import gc
import os
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from kpolicy.cli.findings_text import Findings, concise
from kpolicy.cli.verb import PARAM, Verb, argument
from kpolicy.cli.verbs.kube_scheduler_flags import KUBE_SCHEDULER_FLAGS
from kpolicy.cli.verbs.run_settings import (
    ARGUMENTS,
    RunSettings,
    settings_of_file,
    settled,
    unknown_variables,
)
from kpolicy.version import VERSION

if TYPE_CHECKING:
    from kpolicy.clock import Clock
    from kpolicy.diagnostics import Diagnostic
    from kpolicy.policy.authority import Authority
    from kpolicy.scheduler.delivery.policy_delivery import Keeping, PolicyOrigin
    from kpolicy.scheduler.options import ConfigMapName, Options, TenantSettings
    from kpolicy.scheduler.problem_codes import Problem
    from kpolicy.scheduler.process import Scheduler
    from kpolicy.telemetry.traces import Traces

# The size of asyncio's read buffer of a TLS connection. Without this setting, glibc takes such a
# buffer from the heap of small objects once the first one was freed. Small objects then fill the
# hole, and the heap grows with each buffer.
_MAPPED_BYTES_MIN: Final = 256 * 1024
# Each thread would otherwise keep an arena of freed memory.
_ARENAS_MAX: Final = 2


# The parameter of mallopt(3), its value, the environment variable that sets it, and its name in
# GLIBC_TUNABLES.
_SETTINGS: Final = (
    (-3, _MAPPED_BYTES_MIN, "MALLOC_MMAP_THRESHOLD_", "glibc.malloc.mmap_threshold"),
    (-8, _ARENAS_MAX, "MALLOC_ARENA_MAX", "glibc.malloc.arena_max"),
)


def tune_allocator(environ: Mapping[str, str]) -> None:
    """Sets two parameters of glibc's malloc, for a process that lives for months.

    The environment has precedence. Other C libraries do not have these settings. Call it before any
    thread starts."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    tunables = environ.get("GLIBC_TUNABLES", "").split(":")
    tuned = {tunable.partition("=")[0] for tunable in tunables}
    for parameter, value, variable, tunable in _SETTINGS:
        if variable not in environ and tunable not in tuned:
            mallopt(parameter, value)


_DESCRIPTION: Final = """\
Schedule pending pods until stopped: those whose schedulerName is that of a profile in the policy.

A setting can also be an environment variable: --log-format is KPOLICY_LOG_FORMAT. KPOLICY_POLICY
separates policies by colons, KPOLICY_PARAM has one param on each line. Or it can be in a file
(--config): a SchedulerConfiguration has the names of flags in camelCase, such as logFormat, and
paths relative to the file. A flag has precedence over a variable, and a variable over the file.

The standard OTEL_* variables say where traces go.

Signals: SIGTERM and SIGINT stop. SIGHUP reads the policies again, and the ConfigMaps of their
params; kpolicy also does this when their content changes. SIGUSR2 compares nodes, pods and queue
with the API server, and writes the differences and the queue to the log."""
# The whole way out is promised to take less than eight seconds, whatever hangs.
EXIT_S_MAX: Final = 7.8


# What Python begins with; short commands collect less often.
_COLLECTION: Final = (700, 10, 10)


def _main(args: argparse.Namespace) -> int:
    gc.set_threshold(*_COLLECTION)
    from kpolicy.telemetry import logs

    tune_allocator(os.environ)
    settings, origins = _settings(args)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)  # where every thread is, on stderr
    handler = logs.install(settings.log_format, settings.log_level)
    try:
        return asyncio.run(_run(settings, origins))
    finally:
        logs.uninstall(handler)


def _settings(args: argparse.Namespace) -> tuple[RunSettings, dict[str, str]]:
    file = args.config or (Path(named) if (named := os.environ.get("KPOLICY_CONFIG")) else None)
    flags = {**vars(args), "params": dict(args.param)}
    settings = settings_of_file(file) if file is not None else {}
    for warning in unknown_variables(os.environ):
        print(f"kpolicy: {warning}", file=sys.stderr)
    return settled(flags, os.environ, settings)


async def _run(settings: RunSettings, origins: Mapping[str, str]) -> int:
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.auth.load_connection import load_connection
    from kpolicy.cluster.connection_problem import ConnectionProblem
    from kpolicy.plugins.loading import PluginProblem, load_plugins
    from kpolicy.policy.compile import compile_policy
    from kpolicy.scheduler.delivery.file_check import mistake_in
    from kpolicy.scheduler.delivery.policy_delivery import Keeping, Policies
    from kpolicy.scheduler.delivery.sources import FileSource
    from kpolicy.scheduler.options import LEASE_NAMESPACE_OUTSIDE
    from kpolicy.scheduler.problem_codes import Problem, of_connection, of_plugin
    from kpolicy.scheduler.process import Environment, Scheduler
    from kpolicy.telemetry.limits import TRACE_FLUSH_S

    clock = SystemClock()
    # Mistakes in the arguments and in files are reported before any request is sent.
    if (wrong := _options(settings, "").checked()) is not None:
        return _tell(wrong)
    delivery = delivery_of(settings, LEASE_NAMESPACE_OUTSIDE, clock)
    if isinstance(delivery, Problem):
        return _tell(delivery)
    plugins = load_plugins(settings.plugin)
    if isinstance(plugins, PluginProblem):
        return _tell(of_plugin(plugins))
    compile_with = partial(
        compile_policy,
        params=settings.params,
        authority=replace(delivery.authority, plugins=frozenset(plugin.name for plugin in plugins)),
        release=settings.release,
        feature_gates=settings.feature_gates,
    )
    if isinstance(delivery.policies, FileSource) and delivery.keeping == Keeping():
        mistake = await mistake_in(delivery.policies, compile_with)
        if mistake is not None:
            return _tell(*mistake)
    connections = []
    for _ in range(1 + settings.leader_elect):  # the elector's thread shares nothing
        connection = await load_connection(
            os.environ, clock, kubeconfig=settings.kubeconfig, context=settings.context
        )
        if isinstance(connection, ConnectionProblem):
            return _tell(of_connection(connection))
        connections.append(connection)
    connection = connections[0]
    delivered = delivery_of(settings, connection.namespace, clock)
    if isinstance(delivered, Problem):
        return _tell(delivered)
    traces = _traces(settings)
    scheduler = Scheduler(
        connection,
        Policies(
            delivered.policies,
            keeping=delivered.keeping,
            shadow=delivered.shadow,
            tenants=delivered.tenants,
        ),
        _options(settings, connection.namespace if connection.is_in_cluster else ""),
        environment=Environment(
            clock=clock,
            compile_with=compile_with,
            traces=traces,
            lease_connection=connections[-1],
            on_lost=_exit_lost,
            plugins=plugins,
        ),
        configuration=settings.shown(origins),
    )
    _handle_signals(scheduler)
    problem = await scheduler.run()
    traces.stop(min(TRACE_FLUSH_S, scheduler.stop_left_s(EXIT_S_MAX)) if problem is None else 0.5)
    if problem is None:
        return 0
    reloaded = scheduler.last_reload
    return _tell(problem, reloaded.diagnostics if reloaded is not None else ())


def _options(settings: RunSettings, own_namespace: str) -> Options:
    from kpolicy.journal.disk_size import bytes_of
    from kpolicy.scheduler.options import LEASE_NAMESPACE_OUTSIDE, Options

    return Options(
        bind_address=settings.bind_address,
        port=settings.port,
        auth=settings.auth,
        auth_token_file=str(settings.auth_token_file or ""),
        tls_cert_file=str(settings.tls_cert_file or ""),
        tls_private_key_file=str(settings.tls_private_key_file or ""),
        leader_elect=settings.leader_elect,
        # A namespace that is ours needs no rights in kube-system, which managed clusters guard.
        lease_namespace=settings.lease_namespace or own_namespace or LEASE_NAMESPACE_OUTSIDE,
        lease_name=settings.lease_name,
        lease_duration_s=settings.lease_duration,
        lease_renew_deadline_s=settings.lease_renew_deadline,
        lease_retry_s=settings.lease_retry_period,
        pod_initial_backoff_s=settings.pod_initial_backoff,
        pod_max_backoff_s=settings.pod_max_backoff,
        flush_after_s=settings.flush_after,
        flush_period_s=settings.flush_period,
        binds_in_flight_max=settings.binds_in_flight,
        seed=settings.seed,
        engine_threads=settings.engine_threads,
        once=settings.once,
        plugin_timeout_s=settings.plugin_timeout,
        extender_pod_fields=settings.extender_pod_fields,
        journal=str(settings.journal or ""),
        journal_bytes_max=bytes_of(settings.journal_size),
    )


def _traces(settings: RunSettings) -> Traces:
    import logging

    from kpolicy.telemetry.traces import Rates, traces_of

    rates = Rates(settings.traces_per_second, settings.kept_traces_per_second)
    setup = traces_of(os.environ, VERSION, Random(), rates)
    log = logging.getLogger(__name__)
    for problem in setup.problems:
        log.warning(problem)
    if setup.exporters:
        log.info("traces go to %s", ", ".join(setup.exporters))
    return setup.traces


def _handle_signals(scheduler: Scheduler) -> None:
    loop = asyncio.get_running_loop()
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

    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_signal_handler(signal.SIGINT, stop)
    loop.add_signal_handler(signal.SIGHUP, scheduler.begin_reload)
    loop.add_signal_handler(signal.SIGUSR2, scheduler.dump)


def _exit_lost() -> None:
    """Another may lead by now: nothing is waited for, not even our own loop."""
    os.write(2, b"kpolicy: KPS301: the lease was lost; a restart is safe\n")
    os._exit(1)


def _tell(problem: Problem, diagnostics: tuple[Diagnostic, ...] = ()) -> int:
    if diagnostics:
        print(concise(Findings.of(diagnostics, ())).rstrip(), file=sys.stderr)
    print(f"kpolicy: {problem}", file=sys.stderr)
    return problem.exit_status


@dataclass(frozen=True, slots=True)
class Delivered:
    """The sources of the policies, and what these may do. Without a `shadow`, nothing is
    compared."""

    policies: PolicyOrigin
    keeping: Keeping
    authority: Authority
    shadow: PolicyOrigin | None = None
    tenants: TenantSettings | None = None


def delivery_of(settings: RunSettings, own_namespace: str, clock: Clock) -> Delivered | Problem:
    """A ConfigMap without a namespace is in `own_namespace`."""
    from kpolicy.scheduler.delivery.policy_delivery import Keeping
    from kpolicy.scheduler.delivery.sources import FileSource, FixedSource
    from kpolicy.scheduler.problem_codes import Problem

    sources: list[PolicyOrigin | None] = []
    for flag, paths, name in (
        ("--policy-configmap", settings.policy, settings.policy_configmap),
        ("--shadow-policy-configmap", settings.shadow_policy, settings.shadow_policy_configmap),
    ):
        source = _config_map(name, own_namespace, flag)
        if isinstance(source, Problem):
            return source
        sources.append(source or (FileSource(paths, clock) if paths else None))
    policies, shadow = sources
    status = _status(settings, policies, own_namespace)
    if isinstance(status, Problem):
        return status
    authority = _authority(settings, policies)
    if isinstance(authority, Problem):
        return authority
    tenants = _tenants(settings)
    if isinstance(tenants, Problem):
        return tenants
    keeping = Keeping(status, settings.policy_cache)
    return Delivered(policies or FixedSource(), keeping, authority, shadow, tenants)


def _tenants(settings: RunSettings) -> TenantSettings | Problem | None:
    from kpolicy.scheduler.options import TenantSettings, checked_tenant_label

    if not settings.tenant_configmap:
        return checked_tenant_label(settings.tenant_label)
    tenants = TenantSettings(
        settings.tenant_configmap, settings.tenant_label, settings.tenant_weight
    )
    return tenants.checked() or tenants


def _authority(settings: RunSettings, policies: PolicyOrigin | None) -> Authority | Problem:
    """Who may write a ConfigMap is not yet trusted with the pods of every scheduler."""
    from kpolicy.cli.policy_authority import CONFIG_MAPS, authority_of
    from kpolicy.policy.authority import UNLIMITED
    from kpolicy.scheduler.options import ConfigMapName
    from kpolicy.scheduler.problem_codes import Problem

    is_config_map = isinstance(policies, ConfigMapName)
    if is_config_map and not settings.scheduler_names:
        text = "--policy-configmap needs --scheduler-names: whose pods its policies may serve"
        return Problem("KPS202", text, "for example --scheduler-names=kpolicy")
    return authority_of(
        settings.scheduler_names,
        settings.extender_hosts,
        settings.certificate_folder,
        tenant_label=settings.tenant_label,
        unset=CONFIG_MAPS if is_config_map else UNLIMITED,
    )


def _config_map(name: str, own_namespace: str, flag: str) -> ConfigMapName | Problem | None:
    from kpolicy.scheduler.options import config_map_name

    return config_map_name(name, own_namespace, flag) if name else None


def _status(
    settings: RunSettings, policies: PolicyOrigin | None, own_namespace: str
) -> ConfigMapName | Problem | None:
    from kpolicy.scheduler.options import NO_STATUS, ConfigMapName

    if settings.policy_status == NO_STATUS:
        return None
    if not settings.policy_status and isinstance(policies, ConfigMapName):
        return policies.beside("-status")
    return _config_map(settings.policy_status, own_namespace, "--policy-status")


RUN: Final = Verb(
    "run",
    _DESCRIPTION,
    _main,
    (
        argument(
            "--config",
            type=Path,
            metavar="FILE",
            help="a SchedulerConfiguration with settings (also KPOLICY_CONFIG)",
        ),
        *ARGUMENTS,
        PARAM,
    ),
    "exit: 0 stopped, 1 the policy has errors or a restart is needed, 2 could not work",
    other_flags=KUBE_SCHEDULER_FLAGS,
)
