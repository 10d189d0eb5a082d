"""Evidence that the rule of loss is sound, from a second author's hand: it shares no code with the product."""
