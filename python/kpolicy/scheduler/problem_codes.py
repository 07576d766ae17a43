"""`Problem`: why the scheduler did not start, or stopped, as a code, a message and a hint."""

from __future__ import annotations

from typing import Final

from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.diagnostics import Coded
from kpolicy.plugins.loading import PluginProblem
from kpolicy.quick_dataclass import dataclass

# The meaning of each code, for `kpolicy rule CODE`. A code is never reused.
CATALOGUE: Final = {
    "KPS101": "a policy file, folder or ConfigMap is missing or cannot be read",
    "KPS102": "the policy has errors, and there is no earlier one to keep in force",
    "KPS103": "the engine refused the compiled policy: versions of the two do not match",
    "KPS104": "a policy reads a resource that the API server does not let us list",
    "KPS105": "the last good policy cannot be kept, or what was kept cannot be read",
    "KPS106": "a shadow policy names extenders, and they are not asked",
    "KPS107": "the journal misses calls: the disk refused, or they came faster than it writes",
    "KPS201": "the address for metrics and health cannot be listened on",
    "KPS202": "an option has a value that is not allowed",
    "KPS203": "the file that --config names has errors",
    "KPS204": "the certificates of an extender cannot be read or do not match",
    "KPS205": "the certificate or key for metrics and health cannot be read or used",
    "KPS206": "the file of --auth-token-file cannot be read, or holds no token",
    "KPS207": "--auth wants tokens, and they would cross a network without TLS",
    "KPS208": "a plugin cannot be imported, or cannot be made",
    "KPS209": "a class is no plugin: a method is missing, or cannot be called as it has to be",
    "KPS210": "plugins do not go together: two have one name, or two order the queue",
    "KPS211": "the folder of --journal cannot be written to, or another process writes there",
    "KPS301": "the lease could not be renewed in time; another may lead now",
    "KPS302": "a part of the scheduler ended unexpectedly; a restart is safe",
    "KPS303": "what the scheduler holds is not what the API server says; please report it",
    "KPS304": "the API server could not be asked for what the scheduler is compared with",
    "KPS305": "a plugin blocks its thread, or has ended it; the thread was replaced",
}

# the exit status for a policy with errors, and for a process that has to be restarted
FINDINGS: Final = 1
UNUSABLE: Final = 2


@dataclass(frozen=True, slots=True)
class Problem(Coded):
    exit_status: int = UNUSABLE


def of_connection(problem: ConnectionProblem) -> Problem:
    return Problem(problem.code, problem.message, problem.hint)


def of_plugin(problem: PluginProblem) -> Problem:
    return Problem(problem.code, problem.message, problem.hint)
