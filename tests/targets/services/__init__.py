"""Memory services such as teams write for themselves, each with an interface of its own.

They differ wherever such services do: who makes the ids, how a text is wrapped, how lists are paged and in which
order, what roles are called, who writes the replies. All are sound. Their docstrings are all the documentation they
have.
"""
