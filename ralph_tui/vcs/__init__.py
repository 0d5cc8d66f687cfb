"""The only code that writes git: the person's branches and ralph's commits.

May not: push, rewrite history, ask a question or run a repository's hook outside of the sandbox.
Callers: engine.
"""
