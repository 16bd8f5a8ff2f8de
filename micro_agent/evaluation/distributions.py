"""The normal distribution and Student's t, without SciPy."""

from collections.abc import Callable
from functools import lru_cache
from math import exp, inf, lgamma, log
from statistics import NormalDist


def normal_quantile(p: float) -> float:
    """The standard normal quantile: 1.96 for ``p`` = 0.975."""
    return NormalDist().inv_cdf(p)


def student_t_two_sided(t: float, df: float) -> float:
    """The chance that Student's t with ``df`` degrees of freedom is at least as far from 0 as ``t``.

    Source: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov/8.17 ; Abramowitz and Stegun 26.7.1.
    """
    square = t * t
    return _incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square)) if square < inf else 0.0


@lru_cache(maxsize=1024)
def student_t_quantile(p: float, df: float) -> float:
    """Student's t quantile, ``p`` within 0 and 1: 12.7 for 0.975 with 1 degree of freedom. By bisection."""
    if p < 0.5:
        return -student_t_quantile(1 - p, df)

    def within(t: float) -> bool:
        return student_t_two_sided(t, df) >= 2 * (1 - p)

    far = 1.0
    while within(far):
        far *= 2
    return bisect(within, 0.0, far)


def _incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """The regularized incomplete beta function I_x(a, b), with ``y`` = 1 - ``x``: https://dlmf.nist.gov/8.17.E22 ."""
    if x == 0 or y == 0:
        return float(y == 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, y, x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y)) / a
    # Lentz's method for the continued fraction 1 / (1 + d1 / (1 + d2 / (1 + ...))): https://dlmf.nist.gov/3.10.iii
    value = numerator = 1.0
    denominator, step = 0.0, 0
    while True:
        step += 1
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        denominator = 1 / (1 + term * denominator)
        numerator = 1 + term / numerator
        change = numerator * denominator
        value *= change
        if abs(change - 1) < 1e-15:
            return front / value


def bisect(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where ``holds`` ends between a point inside and the end of the range, by bisection to the last digit."""
    if inside == outside or holds(outside):
        return outside
    while inside != (middle := (inside + outside) / 2) != outside:
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside
