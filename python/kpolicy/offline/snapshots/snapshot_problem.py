"""What is wrong with a snapshot: a code, the place, and what to do.

The engine has the codes for single objects.
"""

from __future__ import annotations

from typing import Final

from kpolicy.quick_dataclass import dataclass

# About a whole file or folder: nothing of it could be used.
NOT_READABLE: Final = "NotReadable"
NO_FILES: Final = "NoFiles"
NOT_A_SNAPSHOT: Final = "NotASnapshot"
# About a recorded snapshot, which is used whole or not at all.
CUT_OFF: Final = "CutOff"
DAMAGED: Final = "Damaged"
NEWER_FORMAT: Final = "NewerFormat"
TOO_LARGE_WHOLE: Final = "TooLargeWhole"
# About a journal, and a file of one where a snapshot is needed.
NOT_A_JOURNAL: Final = "NotAJournal"
JOURNAL_SEGMENT: Final = "JournalSegment"
# About calls that a journal does not have.
JOURNAL_GAP: Final = "JournalGap"
# About a time at which a journal does not say how the cluster was.
BEFORE_JOURNAL: Final = "BeforeJournal"
AFTER_JOURNAL: Final = "AfterJournal"
# About a pod that is not there.
UNKNOWN_POD: Final = "UnknownPod"
# About files whose names were replaced with different keys.
OTHER_KEY: Final = "OtherKey"
# About a part of a file: the text before it, and other files, are used.
CUT_SHORT: Final = "CutShort"
NOT_YAML: Final = "NotYaml"
TOO_LARGE: Final = "TooLarge"
# About objects that no rule reads: one line for each file.
OTHER_KIND: Final = "OtherKind"
# About objects that occur twice.
DUPLICATE: Final = "Duplicate"

WHOLE_SOURCE: Final = frozenset(
    {
        NOT_READABLE,
        NO_FILES,
        NOT_A_SNAPSHOT,
        CUT_OFF,
        DAMAGED,
        NEWER_FORMAT,
        TOO_LARGE_WHOLE,
        JOURNAL_SEGMENT,
    }
)


@dataclass(frozen=True, slots=True)
class Problem:
    """`source` is the file as the user named it; `object` may be empty."""

    code: str
    source: str
    object: str
    message: str
    hint: str = ""

    @property
    def is_of_whole_source(self) -> bool:
        return self.code in WHOLE_SOURCE

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.source, self.object) if part)
        return f"{where}: {self.message}" + (f" ({self.hint})" if self.hint else "")
