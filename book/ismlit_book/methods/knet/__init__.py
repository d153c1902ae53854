"""KNet, chapter 4: clusters through a network that is trained for their dependence, by Adam."""

from ismlit_book.methods.knet.clustering import KNetClustering

__all__ = ["KNetClustering"]
