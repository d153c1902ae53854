"""Parameters of a kernel, as parameters of its estimator."""

import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from ismlit import (
    Gaussian,
    SupervisedIKDR,
)


def test_grid_search_over_the_parameters_of_a_kernel(wine):
    X, y = wine
    model = SupervisedIKDR(2, kernel=Gaussian(1.0), init="taylor")
    assert model.get_params()["kernel__sigma"] == 1.0
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    found = GridSearchCV(model, {"kernel__sigma": [0.01, 3.0]}, cv=folds).fit(X, y)
    assert found.best_params_ == {"kernel__sigma": 3.0}
    assert model.kernel == Gaussian(1.0)
    kernel = model.kernel
    assert model.set_params(kernel__sigma=2.0).kernel == Gaussian(2.0)
    assert kernel == Gaussian(1.0)  # which others may hold
    with pytest.raises(ValueError, match=r"is 'gaussian', which has no parameter 'sigma'"):
        SupervisedIKDR().set_params(kernel__sigma=2.0)
    with pytest.raises(ValueError, match=r"Gaussian.* has no parameter 'c'"):
        model.set_params(kernel__c=2.0)
