"""The documents of a project: reading, checking, recovery, and writing several in one step.

May not: decide the content of a document; `engine` does.
Callers: `store.project`, and code that reads a document without a project.
"""
