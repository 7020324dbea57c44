"""Two small reports with hostile names, of both models, and a Chromium to open them in."""

import os
import shutil

import pytest
from hostile_table import hostile_frame
from mixed_table import mixed_frame

from honestbayes.catalogue import table_specs
from honestbayes.report.analysis import analyse
from honestbayes.report.options import Options
from honestbayes.report.render import write_folder
from honestbayes.tables import read_training
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Chains of the mixture, as short as tests of reports need them.
_MIXTURE = table_specs()["mixture"].chains
for _params in (_MIXTURE.fold_params, _MIXTURE.final_params):
    _params.update(n_chains=2, n_draws=40, n_warmup=20, n_doublings=0, thin=2)

COMMAND = "honestbayes report 'a<b>.csv' --target '<svg'"


@pytest.fixture(scope="session")
def table():
    return read_training(
        frame_table(hostile_frame(), "a<b>.csv"), target="<svg onload=alert(3)>", ids="name"
    )


@pytest.fixture(scope="session")
def analysis(table):
    options = Options(n_features=5, n_folds=2, n_repeats=2, seed=0, model="binary")
    return analyse(table, options, name="a<b>.csv", command=COMMAND)


@pytest.fixture(scope="session")
def folder(analysis, table, tmp_path_factory):
    place = tmp_path_factory.mktemp("report") / "out"
    write_folder(analysis.report, TableModel.of_training(analysis.model, table), place)
    return place


@pytest.fixture(scope="session")
def mixed_table():
    return read_training(
        frame_table(mixed_frame(), "a<b>.csv"),
        target="<svg onload=alert(3)>",
        ids="name",
        coded=True,
    )


@pytest.fixture(scope="session")
def mixed(mixed_table):
    options = Options(n_features=5, n_folds=2, n_repeats=2, seed=0, model="mixed")
    return analyse(mixed_table, options, name="a<b>.csv", command=COMMAND)


@pytest.fixture(scope="session")
def mixed_folder(mixed, mixed_table, tmp_path_factory):
    place = tmp_path_factory.mktemp("mixed") / "out"
    write_folder(mixed.report, TableModel.of_training(mixed.model, mixed_table), place)
    return place


@pytest.fixture(scope="session")
def chromium():
    """A running Chromium; without one the tests are skipped, or fail where they are required."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = os.environ.get("HONESTBAYES_CHROMIUM") or next(
        filter(None, map(shutil.which, names)), None
    )
    if found is None:
        message = "no Chromium was found: the report was not opened in a browser"
        if os.environ.get("HONESTBAYES_REQUIRE_CHROMIUM"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()
