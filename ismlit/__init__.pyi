"""What editors and type checkers see: every name, which at run time is loaded when first used."""

from ismlit import datasets
from ismlit.bandwidth import median_distance
from ismlit.dependence import cka, hsic, normalized_hsic
from ismlit.estimators.gradient_kdr import GradientKDR
from ismlit.estimators.importance import bootstrap_importances, importance_test
from ismlit.estimators.kdac import KDAC
from ismlit.estimators.network.classifier import KernelDependenceNetwork
from ismlit.estimators.response import ResponseIKDR
from ismlit.estimators.semisupervised import SemiSupervisedIKDR
from ismlit.estimators.sliced_inverse import SlicedInverseRegression
from ismlit.estimators.sliced_variance import SAVE
from ismlit.estimators.supervised import SupervisedIKDR
from ismlit.estimators.unsupervised import UnsupervisedIKDR
from ismlit.gamma import Gamma, centre, label_gamma, one_hot, response_gamma
from ismlit.grams import ConstantKernelError, gram
from ismlit.kernels import (
    Gaussian,
    Kernel,
    Linear,
    Multiquadratic,
    Polynomial,
    RelativeGaussian,
    Squared,
)
from ismlit.objectives.plain import Problem
from ismlit.solvers.certificate import Certificate, certify
from ismlit.solvers.ism import ism
from ismlit.solvers.result import ISMResult
from ismlit.statistics import DependenceTest, dependence_test

__version__: str
__all__ = [
    "KDAC",
    "SAVE",
    "Certificate",
    "ConstantKernelError",
    "DependenceTest",
    "Gamma",
    "Gaussian",
    "GradientKDR",
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
    "SlicedInverseRegression",
    "Squared",
    "SupervisedIKDR",
    "UnsupervisedIKDR",
    "bootstrap_importances",
    "centre",
    "certify",
    "cka",
    "datasets",
    "dependence_test",
    "gram",
    "hsic",
    "importance_test",
    "ism",
    "label_gamma",
    "median_distance",
    "normalized_hsic",
    "one_hot",
    "response_gamma",
]
