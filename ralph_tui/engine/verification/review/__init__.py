"""The reviewer: a fresh session that judges, in a frozen copy, the criteria that no command checks.

May not: accept a verdict with quotes that are not in the files.
Callers: the gate and `engine.phases`.
"""
