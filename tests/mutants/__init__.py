"""Mutation testing of the rule of loss: which wrong versions of it would nobody notice?"""
