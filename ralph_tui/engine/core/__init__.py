"""What every part of a run works with: ports, project state, event bus, usage meter, outcomes.

May not: decide what happens next, or start a session or a process.
Callers: every other room of the engine; `agent` and `demo` for the ports.
"""
