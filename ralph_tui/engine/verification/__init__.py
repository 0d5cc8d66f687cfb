"""Verify the agent's claims of "done": detection of checks, the gate, the evidence, the review.

May not: change the plan, or spend money except for a review; the phases do.
Callers: the phases, `ralph verify`, `ralph doctor` and `ralph init`.
"""
