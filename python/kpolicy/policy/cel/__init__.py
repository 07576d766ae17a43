"""The expression language: compiles CEL text to checked IR, or to diagnostics.

`compile_expression` is the whole interface. No I/O, no engine: the same text in the same
environment gives the same bytes.
"""

from kpolicy.policy.cel.front_end import compile_expression
from kpolicy.policy.cel.scope import CompiledExpression, Environment, Parameter
from kpolicy.policy.cel.types import Type, parse_type

__all__ = [
    "CompiledExpression",
    "Environment",
    "Parameter",
    "Type",
    "compile_expression",
    "parse_type",
]
