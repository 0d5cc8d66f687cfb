"""Shared by every rule: the policy, verdicts, arguments, paths and the current invocation.

May not: know a program.
Callers: every part of the guard; the policy also engine and cli.
"""
