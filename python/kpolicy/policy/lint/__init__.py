"""What is suspicious about sound expressions: remarks that need the meaning of a rule.

`check_rules` is the whole interface. Each module proves one thing about checked trees, and stays
silent where it cannot. Pure: no I/O, no cluster, no engine.
"""

from .rules import check_rules

__all__ = ["check_rules"]
