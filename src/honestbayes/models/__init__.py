"""Estimators: one folder for each family of models.

A model is known by its spec: its folder, and its line in `SPECS`, are all that it takes.
"""

from honestbayes.base.spec import ModelSpec
from honestbayes.models.binary.spec import SPECS as BINARY
from honestbayes.models.categorical.spec import SPECS as CATEGORICAL
from honestbayes.models.discrete.spec import SPECS as DISCRETE
from honestbayes.models.discriminant.spec import SPECS as DISCRIMINANT
from honestbayes.models.factors.spec import SPECS as FACTORS
from honestbayes.models.forest.spec import SPECS as FOREST
from honestbayes.models.gaussian.spec import SPECS as GAUSSIAN
from honestbayes.models.interactions.spec import SPECS as INTERACTIONS
from honestbayes.models.kernel.spec import SPECS as KERNEL
from honestbayes.models.logistic.spec import SPECS as LOGISTIC
from honestbayes.models.mixed.spec import SPECS as MIXED
from honestbayes.models.mixture.spec import SPECS as MIXTURE
from honestbayes.models.networks.spec import SPECS as NETWORKS
from honestbayes.models.subsets.spec import SPECS as SUBSETS

SPECS: tuple[ModelSpec, ...] = (
    *CATEGORICAL,
    *GAUSSIAN,
    *BINARY,
    *MIXED,
    *DISCRIMINANT,
    *LOGISTIC,
    *FOREST,
    *KERNEL,
    *MIXTURE,
    *FACTORS,
    *INTERACTIONS,
    *NETWORKS,
    *SUBSETS,
    *DISCRETE,
)
"""All models, in the order in which the average tries them."""
