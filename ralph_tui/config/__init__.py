"""Settings in layers: defaults < user file < project file < RALPH_* < command line.

May not: do I/O beyond reading the two files; import the engine or any face.
Callers: engine, agent, demo, tui and cli.
"""
