"""What is maximised: J over subspaces, its first and second order."""
