"""Events in words: sentences for the stream, and lines for a run without a screen.

May not: decide what an event means for the loop; `domain.view` folds that.
Callers: `present.timeline` and `cli`.
"""
