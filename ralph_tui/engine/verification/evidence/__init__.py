"""Judge what a passing check proves, from its runner's report and the state of the check files.

May not: choose a task's commands (the gate does), ask the person, or write into the project.
Callers: the gate and its baseline.
"""
