"""What a run asks the person: questions, approvals and permission for single calls.

May not: keep an answer in memory only; it stays on disk until it is read.
Callers: `engine.limits`, `engine.session`, `engine.phases` and `engine.run`.
"""
