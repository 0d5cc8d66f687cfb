"""Evidence: what a green check is worth, by its runner's report and the state of the check files.

May not: choose a task's commands (the gate does), ask the person, or write into the project.
Callers: the gate and its baseline.
"""
