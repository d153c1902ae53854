"""Kernel dependence networks: layers, how far they grow, and the classifier."""
