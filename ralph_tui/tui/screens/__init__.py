"""The screens: the dashboard and the dialogs above it.

What lives here: composition and layout of widgets; dialogs that return an answer.
May not: call controls or the engine; they answer, and `steering.py` acts.
Callers: app and steering.
"""
