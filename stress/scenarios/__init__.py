"""What users do: one file a scenario."""
