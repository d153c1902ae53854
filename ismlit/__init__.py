"""Kernel dependence methods solved by the iterative spectral method (ISM)."""

from ismlit.ism import ISMResult, ism
from ismlit.kernels import (
    Gaussian,
    Kernel,
    Linear,
    Multiquadratic,
    Polynomial,
    RelativeGaussian,
    Squared,
)

__version__ = "0.1.0"

__all__ = [
    "Gaussian",
    "ISMResult",
    "Kernel",
    "Linear",
    "Multiquadratic",
    "Polynomial",
    "RelativeGaussian",
    "Squared",
    "ism",
]
