"""Parses shell text into nodes, as bash would.

May not: know what is allowed.
Callers: `guard.core`, `guard.rules` and `guard.analysis`; the gate, for what a status says.
"""
