"""The rules, one module for each kind of program.

May not: walk a script; a rule judges one invocation and asks its walker about what that starts.
Callers: `guard.analysis`, and the git shim for git's rule.
"""
