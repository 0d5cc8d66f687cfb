"""Confines what an agent starts: the OS sandbox, the environment, and the shims in PATH.

May not: read shell text.
Callers: engine, agent and cli.
"""
