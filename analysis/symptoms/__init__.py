"""What harm looks like, as sums over the conversations of a run: the evidence that causes are named by.

A cause is not seen in one lossy recall but in what lossy recalls have in common: who wrote, who read, how long after
the acknowledgement, how long the list was, what else was written at the same moment. So for everything that is counted
of harm the same is counted of what went well: a share needs both, and "all lost messages were written by m2" says
nothing if all messages were.

The parts have the form of all sums (``add``, ``merge``). What they keep of sound conversations are counts that can be
taken from arrays as well as from single recalls.
"""
