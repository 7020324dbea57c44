"""Reports that take long to make."""

from mixed_table import clinic

from honestbayes.report.analysis import analyse
from honestbayes.report.options import Options
from honestbayes.report.render import render
from honestbayes.tables import read_training
from honestbayes.tables.files import frame_table


def test_a_number_of_features_of_each_kind_is_chosen_inside_the_folds():
    table = read_training(
        frame_table(clinic(60), "t"), target="state", keep=["answer", "ward"], coded=True
    )
    options = Options(n_features="cv", n_folds=2, n_repeats=1, path=False, model="mixed")
    found = analyse(table, options, name="t")
    assert render(found.report)
    assert "chosen by cross-validation" in found.report.ranked.rule
    assert {f.column for f in found.report.features if f.by_design} == {"answer", "ward"}
