"""A model is its folder and one line: nothing else names it, and everything finds it."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import numpy as np
import pandas as pd
import pytest
from commands import BLAS_THREADS

import honestbayes
from honestbayes import models
from honestbayes.catalogue import all_specs, spec_of, table_specs
from honestbayes.evaluation.baselines import FREQUENCIES, Task, baselines_for
from honestbayes.report import methods
from honestbayes.report.notebook import make_report
from honestbayes.report.render import render

ESTIMATOR = dedent(
    '''
    """Real-valued features around a centre of each class, all with spreads of their own."""

    from __future__ import annotations

    from dataclasses import dataclass
    from fractions import Fraction
    from typing import Annotated

    import numpy as np

    from honestbayes.files.fields import Floats
    from honestbayes.files.fields import GIVEN
    from honestbayes.models.gaussian.estimator import GaussianFeatureTable
    from honestbayes.base.estimator import SelectiveClassifier
    from honestbayes.base.explanation import ReportSection, by_design
    from honestbayes.base.part import TrainingLabels, TrainingPart
    from honestbayes.selection import DiscardedGroup, Selection
    from honestbayes.types import FloatArray


    @dataclass(frozen=True)
    class ToyPart:
        selection: Annotated[Selection, GIVEN]
        centre: Annotated[FloatArray, Floats("n_classes", "n_columns")]
        spread: Annotated[FloatArray, Floats("n_columns", low=0)]

        def read(self, X, describe):
            return np.asarray(X, dtype=float)

        def rows(self, values, rows):
            return values[rows]

        def log_likelihood(self, values):
            z = (values[:, None] - self.centre) / self.spread
            return -0.5 * np.nansum(z**2, axis=2)

        def draw_evidence(self, values, n_draws, generator):
            found = self.log_likelihood(values)
            n_classes = found.shape[1]
            shape = (n_classes, len(values), n_draws)
            evidence = (found[:, 1:] - found[:, :1])[None, :, None]
            return np.broadcast_to(evidence, (*shape, n_classes - 1)), np.zeros(shape)


    @dataclass(frozen=True)
    class Spreads:
        column: tuple[str, ...]
        spread: tuple[float, ...]

        def __str__(self):
            return "\\n".join(map("{} {:.2f}".format, self.column, self.spread))


    @dataclass(frozen=True)
    class ToySettings:
        n_features: int
        always_keep: object


    @dataclass(frozen=True)
    class ToyTraining(TrainingPart):
        values: FloatArray
        labels: TrainingLabels

        def _whole(self, memo):
            return np.arange(len(self.values))

        def _without(self, folds, memo):
            for rows in folds:
                yield rows, np.setdiff1d(np.arange(len(self.values)), rows)

        def _fitted(self, statistic, whole):
            values, codes = self.values[statistic], self.labels.codes[statistic]
            classes = range(self.labels.classes.size)
            centre = np.stack([np.nanmean(values[codes == c], axis=0) for c in classes])
            spread = np.nanstd(values - centre[codes], axis=0)
            k, p = self.settings.n_features, values.shape[1]
            kept = np.argsort(-np.ptp(centre, axis=0) / spread, kind="stable")[:k]
            counts = tuple(np.bincount(codes).tolist())
            others = (DiscardedGroup(counts, p - k, n_levels=0),) if p > k else ()
            rule = "top" if others else "all"
            columns = tuple(kept.tolist())
            selection = Selection(rule, Fraction(0), columns, (), p, counts, others, 0)
            return ToyPart(selection, centre[:, kept], spread[kept])

        def _values(self, part, rows):
            return self.values[np.ix_(rows, part.selection.columns)]


    def feature_table(part, names, classes, slope):
        size = np.ptp(part.centre, axis=0) / part.spread
        r = size / np.sqrt(4 + size**2)
        designed = by_design(part.selection)
        return GaussianFeatureTable(
            name=names,
            classes=classes,
            r=r,
            centre=part.centre,
            spread=part.spread,
            by_design=designed,
            _correlation=r,
            prob_null=np.zeros(r.size),
        )


    class ToyClassifier(SelectiveClassifier):
        _kind = "ToyClassifier"
        _part_classes = {"toy": ToyPart}
        _fitted_choices = {}
        _kind_of_features = "real"
        _explain_part = staticmethod(feature_table)
        correction_ = None

        def __init__(self, *, n_features_to_select=None, threshold=None, always_keep=None,
                     class_pseudocounts=1.0, class_prior=None, recalibrate="slope",
                     random_state=None):
            self.n_features_to_select = n_features_to_select
            self.threshold = threshold
            self.always_keep = always_keep
            self.class_pseudocounts = class_pseudocounts
            self.class_prior = class_prior
            self.recalibrate = recalibrate
            self.random_state = random_state

        @classmethod
        def _settings_of(cls, words, always_keep):
            return ToySettings(words["n_features_to_select"] or 10, always_keep)

        def _training_parts(self, X, labels):
            values = np.asarray(X, dtype=float)
            number = min(self.n_features_to_select or 10, values.shape[1])
            settings = ToySettings(number, np.zeros(values.shape[1], dtype=bool))
            return [ToyTraining(settings, values, labels)]

        def _store(self, parts):
            self.selection_ = parts[0].selection

        def _sections(self, names):
            columns = tuple(names.column(name) for name in self.get_feature_names_out())
            record = Spreads(columns, tuple(self._parts[0].spread.tolist()))
            return (
                ReportSection(
                    name="spreads",
                    title="The spreads of the toy",
                    record=record,
                    template="honestbayes.models.toy/section.jinja",
                    summary=f"{len(columns)} spreads",
                    facts=(("spreads", f"{len(columns)}"),),
                    limits=("A toy sees little.",),
                ),
            )
    '''
)

SPEC = dedent(
    '''
    """The spec of the toy."""

    from honestbayes.base.spec import CandidateSpec, InputSpec, ModelSpec


    def _load():
        from honestbayes.models.toy.estimator import ToyClassifier

        return ToyClassifier


    SPECS = (
        ModelSpec(
            kind="ToyClassifier",
            load=_load,
            name="toy",
            title="toy",
            summary="numbers around a centre of each class",
            description="numbers around centres",
            input=InputSpec(kinds=("binary", "real")),
            uncorrected_params={},
            candidates=(
                CandidateSpec(
                    name="toy",
                    title="centres of classes",
                    suits=lambda info: info.only("real"),
                    params=lambda _: {"recalibrate": None},
                    quick=(4,),
                    normal=(4, 8),
                ),
            ),
        ),
    )
    '''
)

SECTION = """\
{% from "pieces.jinja" import scroll with context %}
{% call scroll("Spreads") %}
<table id="toy">
{%- for column in section.record.column %}
<tr><th scope="row">{{ column }}</th><td>{{ section.record.spread[loop.index0] | number }}</td></tr>
{%- endfor %}
</table>
{% endcall %}
"""

COMMANDS = """
import json, sys
from honestbayes import models
models.__path__.append(sys.argv[1])
from honestbayes.models.toy.spec import SPECS
models.SPECS += SPECS
from honestbayes.__main__ import main
from honestbayes.evaluation.baselines import FREQUENCIES, baselines_for
from honestbayes.report import methods
# Baselines are tuned for long, and are not what is looked at.
methods.baselines_for = lambda task: {FREQUENCIES: baselines_for(task)[FREQUENCIES]}
for words in json.loads(sys.argv[2]):
    sys.argv = ["honestbayes", *words]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    print(end="\\0", flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of models that holds one: the toy."""
    place = tmp_path_factory.mktemp("models")
    (place / "toy").mkdir()
    (place / "toy" / "__init__.py").write_text('"""A toy."""\n', encoding="utf-8")
    (place / "toy" / "estimator.py").write_text(ESTIMATOR, encoding="utf-8")
    (place / "toy" / "spec.py").write_text(SPEC, encoding="utf-8")
    (place / "toy" / "section.jinja").write_text(SECTION, encoding="utf-8")
    return place


@pytest.fixture
def toy(folder, monkeypatch):
    """The toy's class, for as long as a test takes."""
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(folder)])
    specs = import_module("honestbayes.models.toy.spec").SPECS
    monkeypatch.setattr(models, "SPECS", (*models.SPECS, *specs))
    yield table_specs()["toy"].estimator
    for name in [name for name in sys.modules if name.startswith("honestbayes.models.toy")]:
        del sys.modules[name]


def table(n=60, p=12, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, p))
    X[:, :3] += 1.5 * y[:, None]
    frame = pd.DataFrame(X.round(4), columns=[f"gene{j}" for j in range(p)])
    frame.insert(0, "state", np.array(["ill", "well"], dtype=object)[y])
    return frame


def commands(folder, *several, cwd):
    """Run command lines, one after the other, in a process whose models include the toy."""
    words = json.dumps([[str(word) for word in line] for line in several])
    found = subprocess.run(
        [sys.executable, "-c", COMMANDS, str(folder), words],
        cwd=cwd,
        env=os.environ | BLAS_THREADS | {"PYTHONPATH": str(Path(honestbayes.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    *printed, rest = found.stdout.split("\0")
    assert (len(printed), rest) == (len(several), "")
    return printed


def test_without_its_folder_nobody_knows_the_toy():
    assert "toy" not in table_specs()


def test_the_toy_is_fitted_saved_and_loaded(toy, tmp_path):
    frame = table()
    X, y = frame.drop(columns="state"), frame["state"]
    model = toy(n_features_to_select=4).fit(X, y)
    assert spec_of(model) in all_specs()
    assert model.score(X, y) > 0.8
    model.save(tmp_path / "toy.honestbayes")
    again = honestbayes.load(tmp_path / "toy.honestbayes")
    assert type(again) is toy
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.usefixtures("toy")
def test_the_average_tries_the_toy_and_saves_it(tmp_path):
    frame = table()
    X, y = frame.drop(columns="state"), frame["state"]
    model = honestbayes.HonestClassifier(candidates=["toy", "gaussian"], random_state=0).fit(X, y)
    tried = set(zip(model.model_table().name, model.model_table().n_features, strict=True))
    assert {("toy", 4), ("toy", 8)} <= tried
    model.save(tmp_path / "average.honestbayes")
    again = honestbayes.load(tmp_path / "average.honestbayes")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.usefixtures("toy")
def test_a_report_in_a_notebook_is_about_the_toy(monkeypatch):
    few = {FREQUENCIES: baselines_for(Task(n_candidates=12))[FREQUENCIES]}
    monkeypatch.setattr(methods, "baselines_for", lambda _: few)
    report = make_report(table(), "state", model="toy", n_features=4, n_folds=3, n_repeats=1)
    assert report.settings["model"] == "toy"
    assert [feature["kind"] for feature in report.feature_rows()] == 4 * ["real"]
    (section,) = report.sections
    page = render(report)
    assert '<section id="spreads">' in page
    assert "<h2>The spreads of the toy</h2>" in page
    assert "<dt>spreads</dt><dd>4</dd>" in page
    assert "A toy sees little." in page
    for column, spread in zip(section.record.column, section.record.spread, strict=True):
        assert f'<th scope="row">{column}</th><td>{spread:.2f}</td>' in page
    assert report.to_dict()["sections"]["spreads"]["record"]["column"] == list(
        section.record.column
    )
    assert report.ranking.n_discarded == 8
    assert {"corrected", "two-component mixture"} < {method.name for method in report.methods}


@pytest.mark.slow
def test_the_command_line_offers_reports_on_and_inspects_the_toy(folder, tmp_path):
    table().to_csv(tmp_path / "t.csv", index=False)
    table(seed=1).to_csv(tmp_path / "new.csv", index=False)
    words = ("--target", "state", "--model", "toy", "-k", 4, "--folds", 3, "--repeats", 1)
    model = "r/model.honestbayes"
    offered, printed, shown, listed, told, judged = commands(
        folder,
        ("report", "--help"),
        ("report", "t.csv", *words, "--no-path", "--out", "r"),
        ("inspect", model),
        ("inspect", model, "--json"),
        ("predict", model, "t.csv"),
        ("evaluate", model, "new.csv"),
        cwd=tmp_path,
    )
    assert "toy: numbers around a centre" in " ".join(offered.split())
    assert "4 of 12 continuous), 4 spreads" in " ".join(printed.split())
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert "toy: numbers around centres" in page
    assert "P(state = ill), toy after selection" in shown
    assert "4 of 12" in shown
    assert "\nspreads             4\n" in shown
    assert "\nThe spreads of the toy\ngene" in shown
    held = json.loads(listed)
    assert len(held["sections"]["spreads"]["record"]["spread"]) == 4
    assert len(held["features"]["name"]) == 4
    assert told.count("\n") == 61
    assert "On this table" in judged
