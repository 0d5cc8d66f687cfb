"""What each command does: a method per command, by what the command is about.

May not: draw; they open screens and ask the engine.
Callers: `app`, when a key is pressed or a command is chosen.
"""
