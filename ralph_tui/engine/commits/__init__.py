"""Commits by ralph: when a run makes them, how they are recorded, and what prevents them.

May not: run git itself (vcs does), or know phases and sessions.
Callers: session, phases and run.
"""
