"""What an agent may do: the reading of shell commands and paths, and the rules.

May not: start the commands it reads; know the loop.
Callers: engine and cli.
"""
