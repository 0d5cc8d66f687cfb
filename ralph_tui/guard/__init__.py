"""Decides what an agent may do: every tool call and shell command is judged here.

May not: start the commands it reads, or know the loop.
Callers: engine, agent and cli.
"""
