"""Student's t against published tables and closed forms, and what trimming does."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates.statistics import t_cdf, t_quantile, trimmed, trimmed_mean

# NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, with more digits from Abramowitz & Stegun's formulas.
TABLE = [
    (1, 0.90, 3.077683537),
    (1, 0.95, 6.313751515),
    (1, 0.975, 12.70620474),
    (1, 0.995, 63.65674116),
    (2, 0.95, 2.919985580),
    (2, 0.99, 6.964556734),
    (3, 0.95, 2.353363435),
    (3, 0.975, 3.182446305),
    (4, 0.95, 2.131846786),
    (4, 0.995, 4.604094871),
    (5, 0.95, 2.015048373),
    (7, 0.95, 1.894578605),
    (10, 0.95, 1.812461123),
    (10, 0.975, 2.228138852),
    (20, 0.95, 1.724718243),
    (30, 0.99, 2.457261542),
    (120, 0.95, 1.657650899),
]


@pytest.mark.parametrize(("df", "p", "expected"), TABLE)
def test_quantiles_are_the_published_ones(df: int, p: float, expected: float) -> None:
    assert t_quantile(p, df) == pytest.approx(expected, abs=1e-6, rel=1e-8)


@pytest.mark.parametrize(("df", "p", "t"), TABLE)
def test_the_distribution_is_the_quantiles_inverse(df: int, p: float, t: float) -> None:
    assert t_cdf(t, df) == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize("t", [-40.0, -3.0, -0.5, 0.0, 1e-6, 0.7, 2.0, 12.7, 1e4])
def test_one_and_two_degrees_agree_with_their_closed_forms(t: float) -> None:
    for df, exact in ((1, 0.5 + math.atan(t) / math.pi), (2, 0.5 + t / (2 * math.sqrt(2 + t * t)))):
        assert t_cdf(t, df) == pytest.approx(exact, abs=1e-15)
        assert t_cdf(t, df * (1 + 1e-9)) == pytest.approx(exact, abs=1e-8)  # by the series, next to the closed form


@given(st.floats(0.001, 0.999), st.floats(0.5, 200))
def test_the_distribution_is_symmetric_and_inverts(p: float, df: float) -> None:
    assert t_quantile(p, df) == pytest.approx(-t_quantile(1 - p, df), rel=1e-6, abs=1e-9)
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, abs=1e-9)


def test_a_trimmed_mean_does_not_follow_a_fifth_of_the_values() -> None:
    assert trimmed_mean([1.0, 2.0, 3.0, 4.0, 1e9]) == 3.0
    assert trimmed([1.0, 2.0, 3.0, 4.0, 1e9]).mean == 3.0


def test_with_nothing_to_trim_the_error_is_the_usual_one() -> None:
    found = trimmed([1.0, 2.0, 3.0, 6.0])
    assert (found.mean, found.df) == (3.0, 3)
    assert found.error == pytest.approx(math.sqrt(14 / 3 / 4))


def test_the_error_is_tukey_and_mclaughlins() -> None:
    found = trimmed([10.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -50.0, 7.0, 99.0])  # two cut at each end
    winsorised = [2.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 7.0, 7.0]
    mean = sum(winsorised) / 10
    deviation = math.sqrt(sum((each - mean) ** 2 for each in winsorised) / 9)
    assert found.mean == 4.5
    assert found.error == pytest.approx(deviation / (0.6 * math.sqrt(10)))
    assert found.df == 5


@pytest.mark.parametrize("values", [[1.0], [1.0, float("nan")], [1.0, float("inf")]])
def test_no_statistic_comes_of_too_few_values_or_of_what_is_no_number(values: list[float]) -> None:
    with pytest.raises(AssertionError):
        trimmed(values)
