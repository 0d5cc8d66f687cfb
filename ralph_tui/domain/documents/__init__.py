"""The contents of ralph's documents besides the plan: questions, specs, memory, validation report, AGENTS.md.

May not: read or write a file; `store` does.
Callers: every room.
"""
