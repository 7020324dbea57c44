"""How much work a report does, by the size of the table, unless the user says."""

import pytest

from honestbayes.report.options import Options

MIXED = Options(model="mixed")


def test_large_tables_get_fewer_repeats_and_no_path():
    for options in (Options(), MIXED):
        few = [options.repeats(n, n * p) for n, p in ((38, 3000), (100, 20_000), (3000, 50))]
        assert few == sorted(few, reverse=True)
        assert few[0] > few[-1] == 1
    assert MIXED.wants_path(38, 38 * 3000)
    assert not MIXED.wants_path(3000, 3000 * 50)
    assert not MIXED.wants_path(500, 500 * 100_000)
    assert Options(model="factors").repeats(38, 38 * 3000) == 1
    assert not Options(model="factors").wants_path(38, 38 * 3000)


def test_the_average_is_the_default_and_finds_its_numbers_of_features_itself():
    assert Options().model == "honest"
    assert not Options().wants_path(38, 38 * 3000)
    assert Options().repeats(38, 38 * 3000) < MIXED.repeats(38, 38 * 3000)
    assert Options().repeats(501, 501 * 10) == 1 < MIXED.repeats(501, 501 * 10)
    assert Options(effort="thorough").repeats(38, 38 * 3000) == 1
    assert Options(n_features="all").own_params == {"n_features_to_select": None}


def test_a_first_answer_leaves_out_what_takes_long_and_says_what():
    quick = Options(quick=True)
    assert quick.repeats(38, 38 * 3000) == 1
    assert quick.own_params == {"effort": "quick"}
    assert not quick.compares
    assert "drawn once, the average tried few" in quick.left_out()[0]
    mixed = Options(quick=True, model="mixed", n_repeats=3)
    assert mixed.repeats(38, 38 * 3000) == 3
    assert not mixed.wants_path(38, 38 * 3000)
    assert mixed.own_params == {}
    assert mixed.left_out()[0].startswith("This is a first answer: baselines")
    assert Options().left_out() == ()
    assert Options(quick=True, effort="normal").own_params == {"effort": "normal"}


def test_the_user_has_the_last_word():
    assert Options(n_repeats=7).repeats(10**6, 10**9) == 7
    assert Options(path=True, model="mixed").wants_path(10**6, 10**9)
    assert Options(n_folds="loo", n_repeats=3).repeats(38, 100) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"prevalence": 7}, "prevalence=7 is not a share"),
        ({"n_features": 3, "threshold": 0.2}, "n_features or threshold, not both"),
        ({"n_folds": 1}, "n_folds=1 is not 2 or more"),
        ({"model": "real"}, "model='real' is not 'honest', 'mixed', 'binary', 'mixture', "),
        ({"effort": "quick", "model": "mixed"}, "effort is not for the mixed model"),
        ({"order": 2}, "order is not for the honest model"),
        ({"threshold": 0.2}, "does not take a threshold"),
        ({"n_features": "cv"}, "chooses numbers of features itself"),
        ({"path": True}, "tries several numbers of features anyway"),
    ],
)
def test_what_means_nothing_is_refused(words, message):
    with pytest.raises(ValueError, match=message):
        Options(**words)
