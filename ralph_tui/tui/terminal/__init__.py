"""Every deviation from Textual, and nothing else: each with its reason and what it gains.

May not: know anything about loops.
Callers: `app`, `widgets` and `screens`.
"""
