"""The rules, one module for each kind of program.

May not: walk a script. A rule judges one invocation and has its walker judge what that starts.
Callers: `guard.analysis`, and the git shim for git's rule.
"""
