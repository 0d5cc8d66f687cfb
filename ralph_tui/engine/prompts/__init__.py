"""The texts that the model reads: prompt templates (`*.md`), tool schemas and sub-agents.

May not: read the project's documents or start a session.
Callers: `engine.session`, `engine.phases`, `engine.verification` and `ralph init`.
"""
