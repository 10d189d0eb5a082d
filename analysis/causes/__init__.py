"""Why context was lost: likely causes in plain words, with the evidence for and against each.

Symptoms point at causes, they do not prove them. So a cause is named with the figures that speak for it and those that
speak against it, and with how much of the harm it accounts for; a run without harm has none.
"""
