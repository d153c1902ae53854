"""Kernel dependence methods solved by the iterative spectral method (ISM).

Everything a user needs can be imported from here; a name is loaded when it is first used.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "kernels": "Gaussian Kernel Linear Multiquadratic Polynomial RelativeGaussian Squared".split(),
    "gamma": ["Gamma", "centre", "label_gamma", "one_hot", "response_gamma"],
    "dependence": ["cka", "hsic", "normalized_hsic"],
    "bandwidth": ["median_distance"],
    "grams": ["ConstantKernelError", "gram"],
    "objectives.plain": ["Problem"],
    "solvers.ism": ["ism"],
    "solvers.result": ["ISMResult"],
    "solvers.certificate": ["Certificate", "certify"],
    "estimators.importance": ["bootstrap_importances", "importance_test"],
    "estimators.supervised": ["SupervisedIKDR"],
    "estimators.response": ["ResponseIKDR"],
    "estimators.unsupervised": ["UnsupervisedIKDR"],
    "estimators.semisupervised": ["SemiSupervisedIKDR"],
    "estimators.gradient_kdr": ["GradientKDR"],
    "estimators.sliced_inverse": ["SlicedInverseRegression"],
    "estimators.sliced_variance": ["SAVE"],
    "statistics": ["DependenceTest", "dependence_test"],
    "estimators.kdac": ["KDAC"],
    "estimators.network.classifier": ["KernelDependenceNetwork"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted([*_MODULE_OF, "datasets"])


def __getattr__(name):
    if name in _MODULE_OF:
        return getattr(import_module(f"ismlit.{_MODULE_OF[name]}"), name)
    if name == "datasets":
        return import_module("ismlit.datasets")
    raise AttributeError(f"module 'ismlit' has no attribute {name!r}")


def __dir__():
    return [*globals(), *__all__]
