"""The only code that writes git: the person's branches and ralph's commits.

May not: push, rewrite history, prompt for input, or run a repository's hook outside the sandbox.
Callers: engine.
"""
