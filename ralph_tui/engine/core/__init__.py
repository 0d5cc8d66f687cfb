"""The basics that every part of a run uses: ports, project state, event bus, usage meter, outcomes.

May not: decide what happens next, or start a session or a process.
Callers: every other package of the engine; `agent` and `demo` for the ports.
"""
