"""Assembles the app and keeps it running: start-up, refresh, keys typed ahead, signals.

May not: draw anything, or know what a command does.
Callers: `cli`, through `entry`.
"""
