"""What a green check is worth: what its runner counted, and whether the check is still the person's.

What lives here: recognizing test runners and reading their reports, the snapshot of a project's check files, the
clean copy in which the originals run, and the rules by which a run is no pass.
May not: decide which commands a task has (the gate does), ask the person, write into the project.
Callers: the gate, and `ralph verify`.
"""
