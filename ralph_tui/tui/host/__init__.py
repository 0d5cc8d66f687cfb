"""What the parts of the screen may ask of the app: its settings, toasts, work beside the screen, the loop's folds.

May not: import a widget or a screen.
Callers: every other room of `tui` above it.
"""
