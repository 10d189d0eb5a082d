"""What a run comes to, as sums over its conversations.

Conversations are judged in shares, in several processes, and no process sees all of them. So whatever an output needs
is kept here in accumulators of one form:

    add(checked)    take in one judged conversation
    merge(other)    take in what another share came to; the sum must not depend on how conversations were shared out

Each is small, picklable, and imports neither pandas nor pyarrow. What depends on an order (the first example, the worst
conversations) goes by ``place``, which is the same however the record was read. ``analysis.judged`` puts them together.
"""
