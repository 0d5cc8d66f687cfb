"""What a person may ask of a run: each request is a change of a document on disk.

May not: know how a run works; every other room of the engine may import this one, and it imports none.
Callers: `tui` reaches the engine through here alone; `cli`, `demo` and the rest of the engine.
"""
