"""What ralph's documents hold beside the plan: questions, specs, memory, AGENTS.md, extensions.

May not: read or write a file; `store` does.
Callers: every room.
"""
