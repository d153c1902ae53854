"""What editors and type checkers see: every name, which at run time is loaded when first used."""

from ismlit import datasets
from ismlit.bandwidth import median_distance
from ismlit.dependence import hsic, normalized_hsic
from ismlit.gamma import Gamma, centre, label_gamma, one_hot
from ismlit.kdac import KDAC
from ismlit.kernels import (
    Gaussian,
    Kernel,
    Linear,
    Multiquadratic,
    Polynomial,
    RelativeGaussian,
    Squared,
)
from ismlit.network import KernelDependenceNetwork
from ismlit.optimality import Certificate, certify
from ismlit.pairs import ConstantKernelError, gram
from ismlit.problem import Problem
from ismlit.reduction import ResponseIKDR, SemiSupervisedIKDR, SupervisedIKDR, UnsupervisedIKDR
from ismlit.solver import ISMResult, ism, published_ism

__version__: str
__all__ = [
    "KDAC",
    "Certificate",
    "ConstantKernelError",
    "Gamma",
    "Gaussian",
    "ISMResult",
    "Kernel",
    "KernelDependenceNetwork",
    "Linear",
    "Multiquadratic",
    "Polynomial",
    "Problem",
    "RelativeGaussian",
    "ResponseIKDR",
    "SemiSupervisedIKDR",
    "Squared",
    "SupervisedIKDR",
    "UnsupervisedIKDR",
    "centre",
    "certify",
    "datasets",
    "gram",
    "hsic",
    "ism",
    "label_gamma",
    "median_distance",
    "normalized_hsic",
    "one_hot",
    "published_ism",
]
