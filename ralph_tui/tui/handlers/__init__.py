"""What each command does: a method per command, grouped by topic.

May not: draw. Handlers open screens and send requests to the engine.
Callers: `app`, when a key is pressed or a command is chosen.
"""
