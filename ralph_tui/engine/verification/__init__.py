"""Verify the agent's claims of "done": detection of checks, the gate, the evidence.

May not: change the plan, or spend money; the phases do.
Callers: the phases, `ralph verify`, `ralph doctor` and `ralph init`.
"""
