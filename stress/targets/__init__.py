"""How to speak to a memory product."""
