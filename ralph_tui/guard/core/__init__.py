"""What every rule needs: the policy, verdicts, arguments, paths and the invocation at hand.

May not: know a program.
Callers: every part of the guard; the policy also engine and cli.
"""
