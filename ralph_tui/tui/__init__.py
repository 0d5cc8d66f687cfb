"""The full-screen app: folds of the event stream, keys, screens.

May not: read the engine's insides; write .ralph/ except through engine.controls.
Callers: cli.
"""
