"""Lint of rules whose expressions compile: findings that need the meaning of a rule.

`check_rules` is the whole interface. Each module proves one kind of finding from checked trees and
reports only what it can prove. No I/O, no cluster, no engine.
"""

from .rules import check_rules

__all__ = ["check_rules"]
