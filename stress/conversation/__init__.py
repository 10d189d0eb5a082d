"""What users say: texts and the ledger of what was said."""
