"""What must not break us, fault by fault. `lines` says which test injects which fault.

Most are here; those that a room's own tests inject more closely are there. What costs minutes is marked
`long`; the core of it is played in every run.
"""
