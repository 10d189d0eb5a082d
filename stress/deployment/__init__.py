"""Start, inspect and stop a deployment of the reference memory."""
