"""A table model that holds a factor model: from a CSV file to the same probabilities again."""

import numpy as np
import pytest
from factor_tables import FINAL, genes
from model_files import changed

import honestbayes
from honestbayes import SelectiveFactorClassifier
from honestbayes.files import ModelFileError
from honestbayes.tables import open_table, read_training
from honestbayes.tables.model import TableModel

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LABELS = ("ant", "bee", "cat")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("genes")
    genes(42, labels=LABELS).to_csv(folder / "genes.csv", index=False)
    table = read_training(open_table(folder / "genes.csv"), target="state", coded=True)
    words = {"n_features_to_select": 4, "n_factors": 1, "recalibrate": None, "random_state": 0}
    estimator = SelectiveFactorClassifier(**words, **FINAL).fit(table.X, table.y)
    model = TableModel.of_training(estimator, table)
    model.save(folder / "good.honestbayes")
    return folder, model, estimator.predict_proba(table.X)


def test_a_saved_and_loaded_model_predicts_what_the_estimator_does(fitted):
    folder, model, expected = fitted
    again = honestbayes.load(folder / "good.honestbayes")
    assert isinstance(again.estimator, SelectiveFactorClassifier)
    assert len(again.columns) == 4
    for one in (model, again):
        np.testing.assert_allclose(one.predict_proba(genes(42, labels=LABELS)), expected)
    parts = [again.estimator.predict_proba(part[0]) for part in again.batches(_file(folder))]
    np.testing.assert_allclose(np.concatenate(parts), expected)
    assert again.predict_proba_interval(genes(42, labels=LABELS).iloc[:5]).shape == (5, 3, 2)
    before, after = (str(one.estimator.feature_table()) for one in (model, again))
    assert before == after


def _file(folder):
    return open_table(folder / "genes.csv")


def test_a_file_that_names_another_estimator_is_refused(fitted, tmp_path):
    for kind in ("SelectiveMixedNB", "SelectiveFactorRegressor"):
        changed(
            fitted[0] / "good.honestbayes",
            tmp_path / "bad.honestbayes",
            lambda document, _, kind=kind: document["content"].update(estimator_kind=kind),
        )
        with pytest.raises(ModelFileError):
            honestbayes.load(tmp_path / "bad.honestbayes")
