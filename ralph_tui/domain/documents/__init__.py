"""What ralph's documents hold beside the plan: questions, specs, memory, the validation report, AGENTS.md.

May not: read or write a file; `store` does.
Callers: every room.
"""
