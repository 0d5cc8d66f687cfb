"""The reviewer: a fresh session that judges criteria no command checks, from a frozen copy.

May not: let a verdict stand whose quotes are not in the files.
Callers: the gate and `engine.phases`.
"""
