"""Every bound of `plugins/`, with the reason for its size."""

from __future__ import annotations

from typing import Final

# kube-scheduler's longest wait on Permit.
PERMIT_S_MAX: Final = 15 * 60.0
# How long a call of a plugin may take unless an option says otherwise. kube-scheduler has no limit;
# a pod that waits for longer is better tried again.
CALL_S: Final = 10.0
# How often calls under way are looked at: a part of the time that they may take, and at most this.
LOOK_PART: Final = 0.25
LOOK_S_MAX: Final = 1.0
# What nobody waits for goes over with the next question, or after this time: a hop of its own costs
# more than the call.
LINGER_S: Final = 0.02
# Threads that plugins block for ever. Each keeps its stack; more of them mean that a plugin blocks
# always, and no further thread would help.
BLOCKED_THREADS_MAX: Final = 8
# Those of one plugin: the others are left for the pods of others.
BLOCKED_BY_PLUGIN_MAX: Final = 6
# How often Unreserve is asked of one plugin if calls of others block its thread each time.
UNRESERVE_TRIES_MAX: Final = 8
# Plugins of one process: all are asked about every pod.
PLUGINS_MAX: Final = 64
# The length of a message in a condition or an event; more of it helps nobody.
MESSAGE_CHARACTERS_MAX: Final = 1024
# The numbers in a key of the queue.
KEY_PARTS_MAX: Final = 16
# The answer of the API server that a plugin may read.
REQUEST_S: Final = 10.0
