"""What a user's type checker sees: `test_types` runs mypy --strict on this file.

After "# error" stands what it has to complain of, after "# type" what `reveal_type` has to say.
"""

from typing import reveal_type

import numpy as np

from ismlit import (
    KDAC,
    Gaussian,
    Kernel,
    KernelDependenceNetwork,
    Linear,
    Problem,
    ResponseIKDR,
    SemiSupervisedIKDR,
    SupervisedIKDR,
    UnsupervisedIKDR,
    certify,
    gram,
    hsic,
    ism,
    label_gamma,
    median_distance,
    normalized_hsic,
)
from ismlit.datasets import make_rings
from ismlit.kernels import Product

X, y, plane = make_rings(200, random_state=0)

# Parameters
KDAC(n_clusters=3, penalty=1.0, kernel=Gaussian(1.0), bandwidth=lambda X: 2.0)
KDAC(n_cluster=3)  # error: Unexpected keyword argument "n_cluster"
KDAC(2, penalty="much")  # error: incompatible type "str"
KernelDependenceNetwork(max_layers=2, class_weight={"a": 2.0})
KernelDependenceNetwork(max_layer=2)  # error: Unexpected keyword argument "max_layer"
SupervisedIKDR(2, kernel="linear", init="taylor")
SupervisedIKDR(n_componets=2)  # error: Unexpected keyword argument "n_componets"
ResponseIKDR(2, n_slice=5)  # error: Unexpected keyword argument "n_slice"
UnsupervisedIKDR(3, max_turn=2)  # error: Unexpected keyword argument "max_turn"
SemiSupervisedIKDR(weights=2.0)  # error: Unexpected keyword argument "weights"
Gaussian(sigma=1.0)
Gaussian(sigmas=1.0)  # error: Unexpected keyword argument "sigmas"
Kernel(lambda beta, xp: 1 / (1 + beta), pair="inner")  # error: Unexpected keyword argument "pair"

# Attributes
model = KDAC(2).fit(X, y)
reveal_type(model)  # type: KDAC
reveal_type(model.labels_)  # type: ndarray
reveal_type(model.W_)  # type: ndarray
reveal_type(model.kernel_)  # type: Kernel
reveal_type(model.converged_)  # type: bool
reveal_type(model.history_)  # type: dict[str, .*ndarray
reveal_type(model.known_nmi_)  # type: float
reveal_type(model.fit_transform(X, y))  # type: ndarray
reveal_type(model.fit_predict(X, y))  # type: ndarray
reveal_type(model.predict(X))  # type: ndarray
model.label_  # error: has no attribute "label_"
network = KernelDependenceNetwork().fit(X, y)
reveal_type(network.layers_)  # type: list[.*Layer]
reveal_type(network.layers_[0].kernel.sigma)  # type: float
reveal_type(network.fit_transform(X, y))  # type: ndarray
network.layer_  # error: has no attribute "layer_"

reduction = SupervisedIKDR(2).fit(X, y)
reveal_type(reduction.transform(X))  # type: ndarray
reveal_type(reduction.components_)  # type: ndarray
reveal_type(reduction.score(X, y))  # type: float
reveal_type(reduction.certificate())  # type: Certificate
reduction.convergd_  # error: has no attribute "convergd_"

# Functions
result = ism(X, np.eye(200), Gaussian(1.0), 2)
reveal_type(result.W)  # type: ndarray
ism(X, np.eye(200), "linear", 2, toll=1e-3)  # error: Unexpected keyword argument "toll"
problem = Problem(X, label_gamma(y), Gaussian(median_distance(X)))
reveal_type(certify(problem, result.W).is_maximum)  # type: bool
reveal_type(hsic(gram(Linear(), X), y) + normalized_hsic(gram(Linear(), X), y))  # type: float
reveal_type(problem.objective(result.W))  # type: float
reveal_type(problem.objective_and_gradient(result.W)[1])  # type: ndarray
reveal_type(gram(Linear(), X))  # type: ndarray
kernel = Gaussian(1.0).with_params(sigma=2.0)
reveal_type(kernel.sigma)  # type: float
kernel.sigma = 3.0  # error: Property "sigma" defined in "Gaussian" is read-only
reveal_type(Product(kernel, kernel).f(1.0))  # type: Any
