"""The plan: tasks, their order and the problems that make a plan unworkable.

May not: change state or know how a run works through the plan.
Callers: every room.
"""
