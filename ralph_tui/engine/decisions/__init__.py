"""Ask the person: questions, approvals and permission for single calls.

May not: keep an answer in memory only; answers stay on disk until they are read.
Callers: `engine.limits`, `engine.session`, `engine.phases` and `engine.run`.
"""
