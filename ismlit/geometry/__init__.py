"""Orthonormal frames, the span of the data, and the second order on the manifold of subspaces."""
