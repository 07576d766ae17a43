"""`Problem`: why the scheduler did not start, or stopped, as a code, a message and a hint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.diagnostics import Coded

POLICY_UNREADABLE: Final = "KPS101"
POLICY_INVALID: Final = "KPS102"
PROGRAM_REFUSED: Final = "KPS103"
RESOURCE_NOT_READABLE: Final = "KPS104"
LAST_GOOD_UNUSABLE: Final = "KPS105"
SHADOW_ASKS_NOBODY: Final = "KPS106"
ADDRESS_UNUSABLE: Final = "KPS201"
OPTION_INVALID: Final = "KPS202"
CONFIGURATION_INVALID: Final = "KPS203"
EXTENDER_UNUSABLE: Final = "KPS204"
CERTIFICATE_UNUSABLE: Final = "KPS205"
TOKEN_FILE_UNUSABLE: Final = "KPS206"  # noqa: S105 - a code, no token
TOKENS_IN_THE_CLEAR: Final = "KPS207"
LEADERSHIP_LOST: Final = "KPS301"
TASK_DIED: Final = "KPS302"
HOLDINGS_DIFFER: Final = "KPS303"
COMPARISON_FAILED: Final = "KPS304"

# The meaning of each code, for `kpolicy rule CODE`. A code is never reused.
CATALOGUE: Final = {
    POLICY_UNREADABLE: "a policy file, folder or ConfigMap is missing or cannot be read",
    POLICY_INVALID: "the policy has errors, and there is no earlier one to keep in force",
    PROGRAM_REFUSED: "the engine refused the compiled policy: versions of the two do not match",
    RESOURCE_NOT_READABLE: "a policy reads a resource that the API server does not let us list",
    LAST_GOOD_UNUSABLE: "the last good policy cannot be kept, or what was kept cannot be read",
    SHADOW_ASKS_NOBODY: "a shadow policy names extenders, and they are not asked",
    ADDRESS_UNUSABLE: "the address for metrics and health cannot be listened on",
    OPTION_INVALID: "an option has a value that is not allowed",
    CONFIGURATION_INVALID: "the file that --config names has errors",
    EXTENDER_UNUSABLE: "the certificates of an extender cannot be read or do not match",
    CERTIFICATE_UNUSABLE: "the certificate or key for metrics and health cannot be read or used",
    TOKEN_FILE_UNUSABLE: "the file of --auth-token-file cannot be read, or holds no token",
    TOKENS_IN_THE_CLEAR: "--auth wants tokens, and they would cross a network without TLS",
    LEADERSHIP_LOST: "the lease could not be renewed in time; another may lead now",
    TASK_DIED: "a part of the scheduler ended unexpectedly; a restart is safe",
    HOLDINGS_DIFFER: "what the scheduler holds is not what the API server says; please report it",
    COMPARISON_FAILED: "the API server could not be asked for what the scheduler is compared with",
}

# the exit status for a policy with errors, and for a process that has to be restarted
FINDINGS: Final = 1
UNUSABLE: Final = 2


@dataclass(frozen=True, slots=True)
class Problem(Coded):
    exit_status: int = UNUSABLE


def of_connection(problem: ConnectionProblem) -> Problem:
    return Problem(problem.code, problem.message, problem.hint)
