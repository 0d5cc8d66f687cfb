"""The full-screen app, built on Textual: what a person sees and presses while a loop runs.

May not: decide anything about the loop; it asks `engine` and shows what events report.
Callers: `cli`, which starts the screen.
"""
