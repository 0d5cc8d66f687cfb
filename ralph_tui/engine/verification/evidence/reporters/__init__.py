"""Load inside the project's own test runner, to report what it counts to a file of ralph's.

This directory is put on the runner's `PYTHONPATH`. Its modules use the standard library and the runner only, and
run on any Python that the project uses.
"""
