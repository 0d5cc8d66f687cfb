"""The plan: tasks, their order, what makes a plan unworkable.

May not: change state or know how a run works through the plan.
Callers: every room.
"""
