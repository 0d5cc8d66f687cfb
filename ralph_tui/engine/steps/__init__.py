"""The steps around the work of an iteration: their types, and the runner that executes them in order.

May not: choose a task, judge a claim or write a document except through `ProjectState`.
Callers: engine.phases, engine.run, cli. Packages that add a step type import `step_type`.
"""
