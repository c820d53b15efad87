"""Student's t and trimmed means, against published tables, closed forms and worked values."""

import math

import pytest

from gates.statistics import t_cdf, t_quantile, trimmed, trimmed_mean

# One-sided 95 % and 99 % points as printed in every table of Student's t.
TABLE = {
    1: (6.314, 31.821),
    2: (2.920, 6.965),
    3: (2.353, 4.541),
    4: (2.132, 3.747),
    5: (2.015, 3.365),
    7: (1.895, 2.998),
    10: (1.812, 2.764),
    20: (1.725, 2.528),
    30: (1.697, 2.457),
    120: (1.658, 2.358),
}


@pytest.mark.parametrize("df", TABLE)
def test_quantiles_are_those_of_the_printed_table(df: int) -> None:
    assert [round(t_quantile(p, df), 3) for p in (0.95, 0.99)] == list(TABLE[df])


@pytest.mark.parametrize("t", [-5.0, -0.3, 0.0, 0.7, 12.0])
def test_one_and_two_degrees_of_freedom_have_closed_forms(t: float) -> None:
    assert t_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi)
    assert t_cdf(t, 2) == pytest.approx(0.5 + t / (2 * math.sqrt(2 + t * t)))


@pytest.mark.parametrize("df", [1, 2])
@pytest.mark.parametrize("t", [-5.0, -0.3, 0.7, 12.0])
def test_the_general_form_runs_into_the_closed_ones(df: int, t: float) -> None:
    assert t_cdf(t, df + 1e-9) == pytest.approx(t_cdf(t, df), abs=1e-8)


@pytest.mark.parametrize("t", [-4.0, 0.5, 3.0])
def test_three_degrees_of_freedom_have_a_closed_form_that_the_fraction_meets(t: float) -> None:
    x = t / math.sqrt(3)
    assert t_cdf(t, 3) == pytest.approx(0.5 + (x / (1 + x * x) + math.atan(x)) / math.pi, abs=1e-13)


def test_many_degrees_of_freedom_come_to_the_normal_distribution() -> None:
    assert t_cdf(1.6448536, 1e7) == pytest.approx(0.95, abs=1e-6)


@pytest.mark.parametrize("df", [1, 1.5, 2, 3, 8.25, 40])
@pytest.mark.parametrize("p", [0.001, 0.05, 0.5, 0.8, 0.999])
def test_the_quantile_undoes_the_cdf(df: float, p: float) -> None:
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, abs=1e-12)


def test_a_trimmed_mean_forgets_a_fifth_of_the_values_at_each_end() -> None:
    assert trimmed_mean([1e9, 2.0, 3.0, 4.0, -1e9]) == 3.0


def test_with_nothing_to_trim_the_mean_and_its_error_are_the_usual_ones() -> None:
    found = trimmed([1.0, 2.0, 3.0, 6.0])
    assert (found.mean, found.df) == (3.0, 3) and found.error == pytest.approx(math.sqrt(14 / 3 / 4))


def test_the_error_of_a_trimmed_mean_is_the_winsorised_one() -> None:
    found = trimmed([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 99.0])
    winsorised = [2, 2, 2, 3, 4, 5, 6, 7, 7, 7]
    deviation = math.sqrt(sum((value - 4.5) ** 2 for value in winsorised) / 9)
    assert found.mean == 4.5 and found.df == 5
    assert found.error == pytest.approx(deviation / (0.6 * math.sqrt(10)))


@pytest.mark.parametrize("values", [[1.0], [1.0, math.nan], [1.0, math.inf, 2.0]])
def test_too_few_values_or_ones_that_are_no_numbers_have_no_error(values: list[float]) -> None:
    with pytest.raises(AssertionError):
        trimmed(values)
