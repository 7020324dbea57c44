"""How much work a report does, by the size of the table, unless the user says."""

import pytest

from honestbayes.report.options import Options


def test_large_tables_get_fewer_repeats_and_no_path():
    few = [Options().repeats(n, n * p) for n, p in ((38, 3000), (100, 20_000), (3000, 50))]
    assert few == sorted(few, reverse=True)
    assert few[-1] == 1
    assert Options().wants_path(38, 38 * 3000)
    assert not Options().wants_path(3000, 3000 * 50)
    assert not Options().wants_path(500, 500 * 100_000)
    assert Options(model="factors").repeats(38, 38 * 3000) == 1
    assert not Options(model="factors").wants_path(38, 38 * 3000)


def test_the_user_has_the_last_word():
    assert Options(n_repeats=7).repeats(10**6, 10**9) == 7
    assert Options(path=True).wants_path(10**6, 10**9)
    assert Options(n_folds="loo", n_repeats=3).repeats(38, 100) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"prevalence": 7}, "prevalence=7 is not a share"),
        ({"n_features": 3, "threshold": 0.2}, "n_features or threshold, not both"),
        ({"n_folds": 1}, "n_folds=1 is not 2 or more"),
        ({"model": "real"}, "model='real' is not 'mixed', 'binary', 'mixture', 'factors', "),
    ],
)
def test_what_means_nothing_is_refused(words, message):
    with pytest.raises(ValueError, match=message):
        Options(**words)
