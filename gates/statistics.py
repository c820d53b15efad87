"""The little statistics that a window needs, in plain Python: Student's t, trimmed means and their spread."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

TRIM = 0.2  # share cut from each end: a step that another program interrupted is no reading of this one


def t_cdf(t: float, df: float) -> float:
    """P(T <= t) for Student's t with df > 0 degrees of freedom, df not necessarily whole."""
    assert df > 0 and not math.isnan(t)
    if df == 1:
        return 0.5 + math.atan(t) / math.pi
    if df == 2:
        return 0.5 + t / (2 * math.sqrt(2 + t * t))
    if t * t < df:  # near the middle the share between -t and t keeps its digits, farther out the tails do
        return 0.5 + math.copysign(0.5 * _beta_share(t * t / (df + t * t), 0.5, df / 2), t)
    tail = 0.5 * _beta_share(df / (df + t * t), df / 2, 0.5)
    return 1 - tail if t > 0 else tail


@cache
def t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p, for 0 < p < 1."""
    assert 0 < p < 1 and df > 0
    if p < 0.5:
        return -t_quantile(1 - p, df)
    if df == 1:
        return math.tan(math.pi * (p - 0.5))
    if df == 2:
        return (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))
    low, high = 0.0, 1.0
    while t_cdf(high, df) < p:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        low, high = (middle, high) if t_cdf(middle, df) < p else (low, middle)


@dataclass(frozen=True)
class Trimmed:
    """A trimmed mean, its standard error, and the degrees of freedom of that error."""

    mean: float
    error: float
    df: int


def trimmed(values: Sequence[float], share: float = TRIM) -> Trimmed:
    """The mean without `share` of the values at each end, with its standard error.

    The error is Tukey and McLaughlin's (Sankhya A, 1963): the winsorised deviation over (1 - 2g/n) sqrt(n), g cut at
    each end, with n - 2g - 1 degrees of freedom; with nothing cut it is the usual one. Needs two values; all finite.
    """
    assert len(values) >= 2 and all(math.isfinite(value) for value in values)
    count, cut = len(values), math.floor(share * len(values))
    ordered = sorted(values)
    kept = ordered[cut : count - cut]
    mean = math.fsum(kept) / len(kept)
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    centre = math.fsum(winsorised) / count
    variance = math.fsum((value - centre) ** 2 for value in winsorised) / (count - 1)
    return Trimmed(mean, math.sqrt(variance / count) * count / len(kept), len(kept) - 1)


def trimmed_mean(values: Sequence[float], share: float = TRIM) -> float:
    """The mean without `share` of the values at each end."""
    cut = math.floor(share * len(values))
    kept = sorted(values)[cut : len(values) - cut]
    return math.fsum(kept) / len(kept)


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz & Stegun 26.5.8)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1 - _beta_share(1 - x, b, a)
    log_front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(log_front) * _beta_fraction(x, a, b) / a


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of I_x(a, b), evaluated from the front by Lentz's method."""
    ratio, below = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1))
    value = below
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            below = 1.0 / (1.0 + term * below)
            ratio = 1.0 + term / ratio
            value *= below * ratio
        if abs(value - before) <= 1e-16 * abs(value):
            break
    return value
