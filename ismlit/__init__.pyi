"""What editors and type checkers see: every name, which at run time is loaded when first used."""

from ismlit import datasets
from ismlit.estimators.kdac import KDAC
from ismlit.estimators.network import KernelDependenceNetwork
from ismlit.estimators.reduction import (
    ResponseIKDR,
    SemiSupervisedIKDR,
    SupervisedIKDR,
    UnsupervisedIKDR,
)
from ismlit.problems.bandwidth import median_distance
from ismlit.problems.dependence import hsic, normalized_hsic
from ismlit.problems.gamma import Gamma, centre, label_gamma, one_hot
from ismlit.problems.kernels import (
    Gaussian,
    Kernel,
    Linear,
    Multiquadratic,
    Polynomial,
    RelativeGaussian,
    Squared,
)
from ismlit.problems.pairs import ConstantKernelError, gram
from ismlit.problems.problem import Problem
from ismlit.solvers.optimality import Certificate, certify
from ismlit.solvers.solver import ISMResult, ism, published_ism

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
