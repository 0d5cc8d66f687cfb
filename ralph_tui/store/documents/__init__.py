"""The documents of a project: read, checked, recovered, and written several at a time.

May not: decide what a document says; `engine` does.
Callers: `store.project`, and whoever reads a document without a project.
"""
