"""Networks through commands, on a table with measurements, categories and flags."""

import numpy as np
import pandas as pd
import pytest
from cli_tables import column, report_json, rows_of, write
from typer.testing import CliRunner

import honestbayes
from honestbayes import AveragedNetworkClassifier
from honestbayes.cli import app
from honestbayes.models.networks.spec import SPECS

pytestmark = pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_draws": 30, "n_warmup": 10, "n_doublings": 0}
GIVEN = ("--target", "ill", "--model", "networks")


def patients(n, seed=0):
    """Fever follows the class, pulse follows fever, and the ward and a flag tell nothing."""
    rng = np.random.default_rng(seed)
    ill = rng.permuted(np.arange(n) % 2)
    fever = 37.0 + rng.normal(scale=0.5, size=n) + ill
    return pd.DataFrame(
        {
            "fever": fever.round(3),
            "pulse": (60 + 10 * (fever - 37) + 2 * rng.normal(size=n)).round(3),
            "ward": rng.choice(["north", "south", "west"], n),
            "side": np.where(rng.random(n) < 0.5, -1, 1),
            "ill": np.array(["no", "yes"], dtype=object)[ill],
        }
    )


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with a table and new rows, where commands run in this process, on short chains."""
    folder = tmp_path_factory.mktemp("patients")
    write(patients(100), folder / "patients.csv")
    new = patients(30, seed=1)
    new.loc[3, "fever"], new.loc[4, "fever"] = None, 45.5
    write(new, folder / "new.csv")
    with pytest.MonkeyPatch.context() as patch:
        for words in (SPECS[0].chains.fold_params, SPECS[0].chains.final_params):
            for word, value in SHORT.items():
                patch.setitem(words, word, value)
        patch.chdir(folder)
        yield folder


def called(*words):
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.stdout


def test_measurements_are_cut_in_report_fit_and_predict(here):
    told = called("report", "patients.csv", *GIVEN, "--folds", 2, "--no-compare", "--out", "report")
    assert "average over networks *" in told
    found = report_json(here / "report")
    levels = {feature["name"]: feature["levels"] for feature in found["features"]}
    assert levels["fever"][0].startswith("up to ")
    assert levels["fever"][-1].startswith("above ")
    assert set(levels["ward"]) == {"north", "south", "west"}
    assert len(levels["side"]) == 2
    assert found["sections"]["network"]["record"]["source"]
    called("fit", "patients.csv", *GIVEN, "--out", "model")
    assert (here / "model").read_bytes() == (here / "report" / "model.honestbayes").read_bytes()
    model = honestbayes.load(here / "model")
    assert isinstance(model.estimator, AveragedNetworkClassifier)
    rows = rows_of(called("predict", "model", "new.csv", "--exact"))
    new = pd.read_csv(here / "new.csv")
    expected = model.predict_proba(new)[:, 1]
    assert np.allclose(column(rows, "probability: yes"), expected, atol=1e-12)
    assert np.mean((expected > 0.5) == (new["ill"] == "yes")) > 0.7
    assert "up to " in called("inspect", "model")
