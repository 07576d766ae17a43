"""The live scheduler: queue, cycle, binds and reload over the engine.

Owns what happens between a watch event and a bound pod. Assumes `kpolicy.cluster` for the API and
`kpolicy.engine` for every decision about nodes. Must not score, filter, or parse policies itself.
"""
