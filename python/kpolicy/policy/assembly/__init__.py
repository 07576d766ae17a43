"""From policies as they are read to one program: params, expressions, resolved rules, entries."""
