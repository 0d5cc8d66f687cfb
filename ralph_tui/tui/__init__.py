"""The full-screen app, on Textual: what a person sees and presses while a loop runs.

May not: decide anything about the loop; it asks `engine` and shows what events say.
Callers: `cli`, where it starts the screen.
"""
