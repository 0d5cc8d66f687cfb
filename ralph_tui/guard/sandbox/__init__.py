"""Confines an agent's processes: the OS sandbox, the environment, and the shims in PATH.

May not: parse shell text.
Callers: engine, agent and cli.
"""
