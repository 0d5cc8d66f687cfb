"""The steps around the work of an iteration: their types, and what runs them in order.

May not: choose a task, judge a claim or write a document other than through `ProjectState`.
Callers: engine.phases, engine.run, cli. Packages that bring a type of step import `step_type`.
"""
