"""The rule of loss: when does a recall prove that something said earlier was lost?

A store is accused only of what *no* order of events compatible with the record can explain. Every operation has a start
and an end stamp and took effect somewhere between the two; an append without an acknowledgement took effect at any time
after its start, or never. So the rule works with relations that are *certain*:

* A message is **stored** by ``stored_ns``: the earlier of its acknowledgement and the end of the first recall that
  shows it. What was shown was stored, whatever became of the request that wrote it.
* n is **before** m if n was stored before m was sent, or if both went in one append and n stands earlier in it.
* m is **due** in a recall if it was stored before the recall can have read (``excuses``), and **excused** if it may be
  gone: deleted, overwritten, expired (``expiry``).

A recall that lacks a due message is not yet a loss: with a window of K, newer messages may have pushed it out.

* If the list has **room** (fewer than K elements), nothing was pushed out: everything due must be there. The recall is
  *lossy*.
* If the list is **full**, what is missing may stand before all that is shown, unless something that is shown is
  certainly older. Then the recall is lossy as well.

To *name* a missing message is harder than to see that one is missing: a list that is one short of its window lacks one
message, not the whole past. m is named if something shown is before m, or if even after everything that may stand
behind m is counted there would still be a place for it in the window (``room``).

Certain relations are strict, so equal stamps are concurrent and prove nothing.

What a contract promises less than everything, at once and for ever, changes single steps of this: ``terms`` is the
contract as the rule reads it, ``missing`` the judgement, ``shown`` what may not be listed at all.

This one implementation serves the swarm's quick check and the analyzer.
"""

from goldfish.rule.excuses import Excuses, due
from goldfish.rule.expiry import Expiry, Touch
from goldfish.rule.message import EVER, NEVER, Delete, Message, Recall, before
from goldfish.rule.missing import SOUND, UNCHECKED, Judgement, Missing, Position, judge, judge_search, position
from goldfish.rule.shown import Excess, Wrong, excess, overrun, reordered
from goldfish.rule.terms import Terms, terms_of

__all__ = [
    "EVER",
    "NEVER",
    "SOUND",
    "UNCHECKED",
    "Delete",
    "Excess",
    "Excuses",
    "Expiry",
    "Judgement",
    "Message",
    "Missing",
    "Position",
    "Recall",
    "Terms",
    "Touch",
    "Wrong",
    "before",
    "due",
    "excess",
    "judge",
    "judge_search",
    "overrun",
    "position",
    "reordered",
    "terms_of",
]
