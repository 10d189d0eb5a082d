"""Does a test notice if the rule is changed? Every small change is tried, and the tests must kill it.

    make mutants                      all of them, two at a time; half an hour
    python -m tests.mutants NAME…     those of which the name contains one of these

A mutant is one change of one expression of the rule of loss or of the checker that asks it. It is killed if the product
no longer agrees with the independent oracle on a few hundred histories, or if a test of the suite fails. Whoever
survives is listed in ``survivors.toml`` with the reason why it is no fault: no history can tell it from the original.
A survivor that is not listed fails the command, and so does a listed one that is killed or no longer exists.
"""
