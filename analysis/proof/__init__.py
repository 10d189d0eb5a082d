"""Proves recalls sound, thousands at a time, by sorted integer arrays; whoever is suspect goes the slow way.

The rule of loss (``goldfish.rule``) is asked of one recall at a time and looks at every message sent so far. Almost all
recalls of almost all runs are sound, and that is much cheaper to see than what is wrong with the others. So nothing is
ever *found* here. A conversation either is proven to be exactly what the slow path would find it to be, without a
finding and without a doubt, or it is suspect and the slow path judges it.

What makes a proof simple is that one device is slow: it sends a message only after the one before has ended. So the
messages of an **author** (one device in one conversation), by their numbers, are in the order of their sending, and
what an author owes to a recall is one range of numbers:

* from the first that no window can have pushed out: with room in the list, the first of all; in a full list, the first
  that was sent after something shown was certainly stored, or the first that is shown
* to the last that is due, or the last that is shown

If the recall shows every message of that range that was ever stored, it lacks nothing. Both ends err towards more:
that costs a look by the slow path, never a loss. The steps:

``features``   which contracts are understood at all, and which conversations are plain enough
``messages``   authors, and when each message was stored
``lists``      which recall shows a message first, and one order that all lists agree with
``owed``       the ranges, and whether they are shown

The order deserves a word. Messages are ranked by the recall that shows them first, and within it by their place; but
none stands behind the later ones of its author. That is *one* order. If every list goes up in it, no two lists
contradict each other, and no message is listed twice; if nothing in it was stored before something in front of it was
sent, no list denies the stamps. A store that fixes one order gives such lists, unless a message of one author turns up
late in the midst of another's; then the slow path decides.

Of a conversation that is plain and in this order nothing can be found but losses and overruns, and what is proven of
its sound recalls holds whatever the others lack. So if it is suspect, the slow path need look at those others only.
"""
