"""What a person may ask of a run; each request is a change of a document on disk.

May not: know how a run works. Every other room of the engine may import this one, and it imports none.
Callers: `tui`, which reaches the engine only through here, `cli`, `demo` and the rest of the engine.
"""
