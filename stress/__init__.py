"""Everything that touches the deployment under test."""
