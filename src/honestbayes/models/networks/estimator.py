"""Bayesian network classifiers, averaged over the posterior distribution of their graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from honestbayes.base.explanation import Graph, ReportSection, TableNames
from honestbayes.base.parameters import check_level_and_draws
from honestbayes.base.part import FittedPart, TrainingLabels
from honestbayes.base.persistence import HeldOutParameter, Parameter
from honestbayes.base.sampled import SampledClassifier, sampling_of
from honestbayes.data.categories import check_missing
from honestbayes.data.kinds import Kind, as_columns
from honestbayes.files.fields import Field
from honestbayes.models.networks.model import (
    Edges,
    Graphs,
    NetworkPart,
    NetworkSettings,
    NetworkTraining,
    PriorField,
    blankets_of,
    edges_of,
    feature_table,
    graphs_of,
    network_settings,
)
from honestbayes.sampling.draws import Diagnostics, Draws
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.types import BoolArray, FloatArray

_CLASS = "(class)"

_WHY_COMPLETE = "The score of a graph needs complete training cases"


class AveragedNetworkClassifier(SampledClassifier):
    """Bayesian network classifier of categorical features, averaged over graphs.

    A graph shows which features are informative about the class, and which depend on each other
    given the class; naive Bayes is one of many. Markov chains draw graphs from their posterior
    distribution, and a prediction is the mean over the draws, so that a dependence that the data
    cannot decide about is there in some of them.

    Parameters
    ----------
    table_prior : {"k2", "bdeu"}, default="k2"
        Pseudocounts of the probabilities in each table, which are integrated out: 1 for each cell
        ("k2"), or ``equivalent_sample_size`` shared by all cells of a table ("bdeu").
    equivalent_sample_size : float, default=1.0
        Pseudocounts that all cells of a table share, with ``table_prior="bdeu"``.
    space : {"networks", "classifiers"}, default="networks"
        Which graphs are possible: all without cycles, or those in which every arc enters the class
        or one of its children. Where many features depend on each other rather than on the class,
        the latter are overconfident (see the page on networks).
    graph_prior : {"arcs", "uniform"}, ("arcs", law) or ("features", law), default="arcs"
        Prior of graphs. "arcs": a number of arcs is half as likely as one less, and all ways to
        choose as many of the possible ones share it; so the more columns there are, the stronger
        the first arcs have to be. ("arcs", factor): each arc multiplies the probability by a
        factor. "uniform": equal for all graphs, which finds chance arcs between many columns.
        ("arcs", law): the number of arcs has another distribution, which the ways to choose them
        share: "uniform", ("poisson", mean), or a function of the number that is above 0 from 0 up
        to a largest number. ("features", law): the number of features in the class's Markov
        blanket has it, and all sets of as many columns and all graphs of a set share it; only with
        ``space="classifiers"``.
    objective : {"marginal_likelihood", "conditional_likelihood", "accuracy", "brier"}, \
default="marginal_likelihood"
        Score of a graph (J of the paper). "marginal_likelihood" integrates the parameters out, so
        it does not mistake chance for signal. The others score how well the graph's tables predict
        the class of the training rows, as in `SubsetSampler`: the sum of
        log P(class | x), 1 - error rate, and 1 - half the mean squared error.
    held_out : int or splitter, optional
        Number of folds, for scores of rows: a row is then scored by tables that were counted
        without its fold. ``LeaveOneOut()`` of scikit-learn costs no more than five folds.
    temperature : float, default=1.0
        The log score is divided by it. Of a share, such as the accuracy, the target is the share
        to the power of one over it; 1 is the paper's.
    proposal : {"typed", "uniform", "printed"}, default="typed"
        How a chain proposes its next graph. "typed": a kind of moves is drawn first, then a move of
        that kind (equation 11, with reversals and exchanges). "uniform": any graph with one arc
        more or less (Madigan and York, equations 4 and 5). Both have the same posterior
        distribution. "printed": the moves of equation 9 as printed, accepted by the score and the
        prior alone. This chain is not reversible, because many of its deletions have no way back,
        and what it draws is not the posterior distribution; it is there to repeat the paper's third
        experiment.
    max_parents : int, default=4
        Largest number of parents of a node, including the class.
    max_features : int, default=30
        The most columns that graphs can use, 62 at most. Of a wider table those with the most
        mutual information with the class are kept. The prior "arcs" counts the others too. With
        ``recalibrate="bayes"`` they are chosen again in every fold that is held out.
    kinds : mapping or sequence, optional
        The kind of columns: a mapping from names or indices to "binary", "categorical" or "real",
        which need not name all of them, or a kind for each. What is "real" is cut into bins. By
        default that is done to columns with numbers that no level can be: negative ones and
        fractions.
    n_bins : int, default=10
        Bins of a measurement, at most; fewer where there would be less than 20 rows in each. They
        are learned from the training rows without their classes, as in `DiscreteNB`.
    missing : {"refuse", "level"}, default="refuse"
        Whether a missing training cell is an error, or a level of its own. At prediction with
        "refuse", missing cells, and levels that `fit` has not seen, are summed over.
    n_features_to_select : int or "all", default="all"
        Fewer columns than ``max_features``, by the same measure.
    threshold : float, optional
        Instead, keep columns whose absolute correlation is above this bound.
    always_keep : list of names or indices, or mask, optional
        Columns that are kept whatever their mutual information; graphs need not use them.
    class_pseudocounts : float or array-like, default=1.0
        Dirichlet prior of the class frequencies, for another prevalence at prediction.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"bayes", "slope"} or None, default=None
        How probabilities are recalibrated on held-out cases. "bayes": slope and outlier rate,
        averaged over; "slope": one factor on the evidence. Both are learned from held-out
        predictions inside `fit`, for which chains run again many times.
    {chain_parameters}
    thin : int, optional
        Number of proposals for each draw; by default ten for each column, and 50 at least.
    random_state : int, RandomState or None, default=None
        Seeds the chains, and what intervals draw.

    Attributes
    ----------
    inclusion_probabilities_, inclusion_errors_ : ndarray of shape (n_features,)
        Share of the graphs in which each feature is in the class's Markov blanket, and its Monte
        Carlo standard error; 0 for columns that were screened out.
    edge_probabilities_ : ndarray of shape (k + 1, k + 1)
        Share of the graphs with an arc from one node to another; nodes are the kept columns in the
        order of `get_feature_names_out`, then the class.
    diagnostics_ : Diagnostics
        Of arcs, features in the blanket, scores, and the features that are known least well.
    draws_ : Draws
        The same numbers of all draws: ``arcs``, ``size`` and ``score``.
    selection_ : Selection
        Columns that graphs are over.
    number_choice_ : None
        The number of features is not chosen by held-out cases here.
    slope_, outlier_rate_ : float
        Posterior means of the factor on the evidence and of the outlier rate; 1 and 0 without
        recalibration.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Notes
    -----
    A cell is a text or a whole number from 0 on, or any number in a column that a frame calls a
    category; continuous columns are cut into bins.

    Any graph predicts the class as one of the space "classifiers" does. Missing cells are summed
    over exactly, up to 1,024 combinations of levels in a graph; beyond that each table is summed
    over its missing parents as if they were independent of all else.

    References
    ----------
    Egmont-Petersen, M. Feature selection by Markov chain Monte Carlo sampling: a Bayesian approach;
    section 4.4. Friedman, N., Geiger, D. and Goldszmidt, M. (1997), Bayesian network classifiers,
    Machine Learning 29, 131-163.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import AveragedNetworkClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.integers(0, 2, (300, 6))
    >>> X[:, 2] = np.where(rng.random(300) < 0.8, y, 1 - y)
    >>> X[:, 4] = X[:, 2]
    >>> model = AveragedNetworkClassifier(random_state=0).fit(X, y)
    >>> model.predict_proba([[0, 0, 1, 0, 1, 0]]).round(1)
    array([[0.2, 0.8]])
    """

    _kind: ClassVar[str] = "AveragedNetworkClassifier"
    _remedy: ClassVar[str] = "raise n_draws or thin"
    _kind_of_features: ClassVar[Kind] = "categorical"
    _explain_part = staticmethod(feature_table)
    _part_classes: ClassVar[Mapping[str, type]] = {"networks": NetworkPart}
    _fitted_choices: ClassVar[Mapping[str, Field]] = {}
    _parameter_fields: ClassVar[Mapping[str, Field]] = {
        "graph_prior": PriorField(),
        "objective": Parameter(absent="marginal_likelihood"),
        "held_out": HeldOutParameter(absent=None),
        "temperature": Parameter(absent=1.0),
        "proposal": Parameter(absent="typed"),
    }

    def __init__(
        self,
        *,
        table_prior: Literal["k2", "bdeu"] = "k2",
        equivalent_sample_size: float = 1.0,
        space: Literal["networks", "classifiers"] = "networks",
        graph_prior: Any = "arcs",
        objective: Literal[
            "marginal_likelihood", "conditional_likelihood", "accuracy", "brier"
        ] = "marginal_likelihood",
        held_out: Any = None,
        temperature: float = 1.0,
        proposal: Literal["typed", "uniform", "printed"] = "typed",
        max_parents: int = 4,
        max_features: int = 30,
        kinds: Any = None,
        n_bins: int = 10,
        missing: Literal["refuse", "level"] = "refuse",
        n_features_to_select: int | Literal["all"] | None = "all",
        threshold: float | None = None,
        always_keep: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = None,
        n_chains: int = 4,
        n_draws: int = 500,
        n_warmup: int = 200,
        n_doublings: int = 4,
        thin: int | None = None,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.table_prior = table_prior
        self.equivalent_sample_size = equivalent_sample_size
        self.space = space
        self.graph_prior = graph_prior
        self.objective = objective
        self.held_out = held_out
        self.temperature = temperature
        self.proposal = proposal
        self.max_parents = max_parents
        self.max_features = max_features
        self.kinds = kinds
        self.n_bins = n_bins
        self.missing = missing
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.thin = thin
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing == "level"
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------ fitting

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[NetworkTraining]:
        self._settings(np.zeros(X.shape[1], dtype=bool))
        always = parse_always_keep(self.always_keep, as_columns(X).feature_names, X.shape[1])
        settings = self._settings(always)
        sampling = sampling_of(self.get_params(deep=False))
        training = NetworkTraining.of(settings, X, labels, self.random_state, sampling)
        check_missing(training.table, _WHY_COMPLETE, missing_is_level=settings.missing == "level")
        return [training]

    def _settings(self, always_keep: BoolArray) -> NetworkSettings:
        return network_settings(self.get_params(deep=False), always_keep)

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        return network_settings(parameters, always_keep)

    @property
    def _part(self) -> NetworkPart:
        (part,) = self._parts
        assert isinstance(part, NetworkPart)
        return part

    @property
    def _log_prior(self) -> FloatArray:
        (part,) = self._parts
        assert isinstance(part, NetworkPart)
        return part.log_prior

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, NetworkPart)
        self.selection_: Selection = part.selection
        self.draws_: Draws = part.fit.draws
        self.diagnostics_: Diagnostics = part.fit.diagnostics
        (columns,) = self._kept_columns()
        self.inclusion_probabilities_ = np.zeros(self.n_features_in_)
        self.inclusion_errors_ = np.zeros(self.n_features_in_)
        self.inclusion_probabilities_[columns] = part.fit.inclusion
        self.inclusion_errors_[columns] = part.fit.inclusion_error
        self.edge_probabilities_ = part.fit.edges

    def _parameters_on_kept_columns(self) -> dict[str, Any]:
        kinds = None
        if self.kinds is not None:
            bounds = self._part.cuts.bounds
            kinds = ["categorical" if cut is None else "real" for cut in bounds]
        return {**super()._parameters_on_kept_columns(), "kinds": kinds}

    # --------------------------------------------------------------- prediction

    def predict_proba_interval(
        self, X: Any, level: float = 0.9, *, class_prior: Any = None, n_draws: int = 500
    ) -> FloatArray:
        """Return intervals for P(class | x).

        An interval holds ``level`` of the distribution of P(class | x, graph, parameters) over
        graphs and over the parameters of their tables, all drawn from the posterior distribution;
        `predict_proba` has the parameters integrated out, and is about the middle of it.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        level : float, default=0.9
            Probability that the interval holds.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        n_draws : int, default=500
            Draws that are used.

        Returns
        -------
        ndarray of shape (n, 2), or (n, n_classes, 2) for more than two classes
            Lower and upper bounds, for two classes those of ``classes_[1]``.
        """
        check_level_and_draws(level, n_draws)
        n_rows, values = self._read(X)
        cells = values[0][1] if values else np.zeros((n_rows, 0), dtype=np.int64)
        baseline = np.broadcast_to(self._log_prior, (n_rows, 1, self.classes_.size))
        drawn = self._part.fit.probabilities(cells, n_draws)
        return self._interval_of_draws(drawn, baseline, class_prior, level)

    # --------------------------------------------------------------- explanation

    def edges(self, least: float = 0.01) -> Edges:
        """Return arcs and their probabilities, the most probable first.

        Parameters
        ----------
        least : float, default=0.01
            The smallest probability that is shown.
        """
        check_is_fitted(self)
        names, _ = self._names_and_classes()
        return edges_of(self._part, names, _CLASS, least)

    def blankets(self, most: int = 10) -> list[tuple[tuple[str, ...], float]]:
        """Return the most frequent Markov blankets of the class, and their shares.

        Parameters
        ----------
        most : int, default=10
            How many.
        """
        check_is_fitted(self)
        names, _ = self._names_and_classes()
        return blankets_of(self._part, names, most)

    def graphs(self, most: int | None = None) -> Graphs:
        """Return the distinct sampled graphs: the joint distribution of equation 1.

        They are those that predictions are averaged over, from up to 1,000 draws that are evenly
        spread over all chains: of each its share, its score J, the features Y in the Markov blanket
        of the class, and the parents of each node, which are the model M.

        Parameters
        ----------
        most : int, optional
            How many, the most frequent first; all by default.
        """
        check_is_fitted(self)
        names, _ = self._names_and_classes()
        return graphs_of(self._part, names, _CLASS, most)

    def _sections(self, names: TableNames) -> tuple[ReportSection, ...]:
        """Return the most probable arcs, between the columns of the table and its target."""
        record = self.edges().renamed(names.column)
        first = zip(record.source[:5], record.target[:5], record.probability[:5], strict=True)
        arcs = "; ".join(f"{a} to {b} {p:.0%}" for a, b, p in first)
        number = len(record.source)
        return (
            ReportSection(
                name="network",
                title="Dependencies between columns",
                record=record,
                template="honestbayes.models.networks/section.jinja",
                summary=f"{number:,} arc{'' if number == 1 else 's'} with a probability of 1% or "
                "more",
                limits=(
                    (
                        "Each column has only a few parents in the graphs, so the model misses "
                        "signal in combinations of many columns."
                    ),
                ),
                picture=Graph(
                    *record.matrix(names.target),
                    f"Arcs between the class and columns, the most probable: {arcs or 'none'}.",
                ),
            ),
        )

    def _arviz_groups(self) -> tuple[Sequence[str], Sequence[str]]:
        return ["arcs", "size"], ["score"]
