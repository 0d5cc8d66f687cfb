"""Puts the screen together and keeps it running: start-up, refresh, keys that are typed ahead, signals.

May not: draw anything, or know what a command does.
Callers: `cli`, through `entry`.
"""
