"""The kernel family of ISM: a formula f(beta) on inner products or on differences."""

from ismlit.kernels._base import Kernel, Product, Scaled, Sum, symbolic_functions
from ismlit.kernels._named import (
    Gaussian,
    Linear,
    Multiquadratic,
    Polynomial,
    RelativeGaussian,
    Squared,
)

__all__ = [
    "Gaussian",
    "Kernel",
    "Linear",
    "Multiquadratic",
    "Polynomial",
    "Product",
    "RelativeGaussian",
    "Scaled",
    "Squared",
    "Sum",
    "symbolic_functions",
]
