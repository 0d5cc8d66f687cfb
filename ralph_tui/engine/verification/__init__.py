"""How a claim of "done" is verified: detection, the gate, the evidence, receipts, review.

May not: change the plan or spend money except for a review; the phases do.
Callers: the phases, `ralph verify`, `ralph doctor` and `ralph init`.
"""
