"""Events in words: sentences, the notes of the stream, and the lines of a run without a screen.

May not: decide what an event means for the loop; `domain.view` folds that.
Callers: `present.timeline` and `cli`.
"""
