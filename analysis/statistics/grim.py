"""GRIM and GRIMMER: checks whether whole numbers can have a printed mean and standard deviation."""

from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isqrt

from batteries.errors import InputError

MOST_DIGITS = 200
"""Number of digits in the computations. A printed number with more than half as many digits is refused."""


def rounding_bounds(printed: str | Decimal) -> tuple[Fraction, Fraction]:
    r"""Return the lowest and the highest value that round to the printed number.

    Parameters
    ----------
    printed : str or Decimal
        The number as printed. The number of decimals matters: `0.50` and `0.5` have different bounds.

    Raises
    ------
    InputError
        If the text is not a number.

    Notes
    -----
    A printed number :math:`x` with :math:`d` decimals has the bounds :math:`x \pm 10^{-d}/2`. Both bounds are
    included, because rules and programs differ in how they round a value exactly half way between two neighbours.

    Examples
    --------
    >>> [str(bound) for bound in rounding_bounds("0.50")]
    ['99/200', '101/200']
    """
    number = _decimal(printed)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    half = Fraction(10) ** exponent / 2
    return Fraction(number) - half, Fraction(number) + half


def grim(mean: str | Decimal, n: int, *, items: int = 1, scale: tuple[int, int] | None = None) -> bool:
    r"""Return True if whole numbers can have the printed mean (the GRIM test).

    Parameters
    ----------
    mean : str or Decimal
        The mean as printed, with its decimals. Convert a percentage to a share with two more decimals: 85.1 % becomes
        0.851.
    n : int
        Number of participants.
    items : int
        Number of whole numbers, such as ratings, that are averaged to the value of one participant.
    scale : tuple of int, optional
        Lowest and highest response.

    Raises
    ------
    InputError
        If `mean` is not a number, `n` or `items` is not positive, or the lowest response is not below the highest
        response.

    Notes
    -----
    There are :math:`N` = `n` :math:`\times` `items` whole numbers, so their sum is a whole number. The printed mean
    :math:`m` is possible if there is a whole number :math:`S` with

    .. math:: m - \tfrac12 10^{-d} \le S / N \le m + \tfrac12 10^{-d}

    where :math:`d` is the number of decimals (see `rounding_bounds`). If the scale goes from :math:`a` to :math:`b`,
    :math:`N a \le S \le N b` must also be true. If :math:`N > 10^d`, every mean within the scale is possible.

    References
    ----------
    Brown, N. J. L., & Heathers, J. A. J. (2017). The GRIM test: A simple technique detects numerous anomalies in the
    reporting of results in psychology. Social Psychological and Personality Science, 8, 363-369.

    Examples
    --------
    No mean of 28 whole numbers rounds to 5.19 (145/28 is 5.18 and 146/28 is 5.21). A mean of 28 x 3 whole numbers can
    round to 5.19.

    >>> grim("5.19", 28), grim("5.18", 28), grim("5.19", 28, items=3)
    (False, True, True)
    """
    return bool(_sums(mean, n, items, scale))


def nearest_means(mean: str | Decimal, n: int, *, items: int = 1) -> tuple[str, str]:
    """Return the nearest possible means below and above a printed mean, with the same number of decimals.

    For the parameters, see `grim`.

    Examples
    --------
    >>> nearest_means("5.19", 28)
    ('5.18', '5.21')
    """
    number, total = _decimal(mean), _positive(n, "n") * _positive(items, "items")
    sum_below = floor(Fraction(number) * total)
    with localcontext() as context:
        context.prec = MOST_DIGITS
        below, above = (str((Decimal(whole) / total).quantize(number)) for whole in (sum_below, sum_below + 1))
    return below, above


def grimmer(
    mean: str | Decimal,
    sd: str | Decimal,
    n: int,
    *,
    items: int = 1,
    scale: tuple[int, int] | None = None,
    ddof: int = 1,
) -> bool:
    r"""Return True if whole numbers can have the printed mean and standard deviation (an exact GRIMMER test).

    Parameters
    ----------
    mean, sd : str or Decimal
        Mean and standard deviation as printed, with their decimals.
    n : int
        Number of participants, at least 2.
    items : int
        Number of whole numbers, such as ratings, that are averaged to the value of one participant.
    scale : tuple of int, optional
        Lowest and highest response.
    ddof : int
        Give 1 for the standard deviation of a sample, and 0 for that of a population. The sum of squared deviations is
        divided by `n - ddof`.

    Raises
    ------
    InputError
        If `mean` or `sd` is not a number, `n` is below 2, or `items` is not positive. Also if the lowest response is
        not below the highest response.

    Notes
    -----
    Let :math:`y_i` be the sum of participant :math:`i` over the :math:`k` items, :math:`S = \sum y_i` and :math:`Q =
    \sum y_i^2`. The printed mean limits :math:`S` as in `grim`, and the printed standard deviation :math:`s` limits

    .. math:: Q = (n - \mathrm{ddof})\, k^2 s^2 + S^2 / n.

    Anaya (2016) and Allard (2018) require a whole number :math:`Q` within these limits, and :math:`S` and :math:`Q`
    must be both even or both odd. This condition is necessary but not sufficient. With few participants, or near the
    ends of a scale, there may still be no whole numbers with this :math:`S` and :math:`Q`. This function searches for
    such whole numbers, and returns False only if there are none.

    References
    ----------
    Anaya, J. (2016). The GRIMMER test: A method for testing the validity of reported measures of variability. PeerJ
    Preprints, 4, e2400v1.
    Allard, A. (2018). Analytic-GRIMMER: A new way of testing the possibility of standard deviations.

    Examples
    --------
    The sum and the sum of squares of whole numbers are both odd or both even. For 35 whole numbers with the mean 5.23
    and the standard deviation 2.55, this is impossible.

    >>> grimmer("5.23", "2.55", 35), grimmer("5.23", "2.56", 35)
    (False, True)
    """
    if n < 2:
        raise InputError(f"n is {n}, but a standard deviation needs at least 2 participants. Fix: correct n.")
    sums = _sums(mean, n, items, scale)
    least_sd, greatest_sd = rounding_bounds(sd)
    if greatest_sd < 0:
        return False
    weight = (n - ddof) * items**2
    least, greatest = max(least_sd, Fraction(0)) ** 2 * weight, greatest_sd**2 * weight
    for total in sums:
        lowest, highest = _limits(total, n, floor(greatest)) if scale is None else (items * end for end in scale)
        # Subtract the lowest value, so that the search is for numbers from 0 to `top`.
        from_zero, top = total - n * lowest, highest - lowest
        mean_part = Fraction(from_zero**2, n)
        fewest, most = _extreme_squares(n, from_zero, top)
        first, last = max(fewest, ceil(least + mean_part)), min(most, floor(greatest + mean_part))
        first += (first - from_zero) % 2
        if any(_exists(n, from_zero, squares, top) for squares in range(first, last + 1, 2)):
            return True
    return False


def _sums(mean: str | Decimal, n: int, items: int, scale: tuple[int, int] | None) -> range:
    """Return the whole numbers that can be the sum of all responses, given the printed mean."""
    total = _positive(n, "n") * _positive(items, "items")
    low, high = rounding_bounds(mean)
    least, greatest = ceil(low * total), floor(high * total)
    if scale is not None:
        lowest, highest = scale
        if lowest >= highest:
            raise InputError(
                f"the lowest response of the scale ({lowest}) is not less than the highest response ({highest}). Fix: "
                "give the lowest response first."
            )
        least, greatest = max(least, lowest * total), min(greatest, highest * total)
    return range(least, greatest + 1)


def _limits(total: int, n: int, squares: int) -> tuple[int, int]:
    """Return the smallest and the largest value that one of `n` numbers can have.

    The numbers have the sum `total`, and their sum of squared deviations is at most `squares`.
    """
    furthest = isqrt(squares) + 1
    return total // n - furthest, total // n + 1 + furthest


def _extreme_squares(n: int, total: int, top: int) -> tuple[int, int]:
    """Return the lowest and the highest sum of squares of `n` whole numbers from 0 to `top` with the sum `total`."""
    each, n_above = divmod(total, n)
    n_top, rest = divmod(total, top) if top else (0, 0)
    return (n - n_above) * each**2 + n_above * (each + 1) ** 2, n_top * top**2 + rest**2


@lru_cache(maxsize=100_000)
def _exists(n: int, total: int, squares: int, top: int) -> bool:
    """Return True if `n` whole numbers from 0 to `top` can have the sum `total` and the sum of squares `squares`.

    The caller makes sure that `total` and `squares` are both even or both odd.
    """
    if n == 0:
        return total == squares == 0
    if not 0 <= total <= n * top:
        return False
    fewest, most = _extreme_squares(n, total, top)
    if not fewest <= squares <= most:
        return False
    each, n_above = divmod(total, n)
    # If numbers are as equal as possible, moving two equal numbers apart by one adds 2 to the sum of squares.
    pairs = (n - n_above) // 2 * (0 < each < top) + n_above // 2 * (each + 2 <= top)
    if squares - fewest <= 2 * pairs:
        return True
    if n == 2:
        root = isqrt(2 * squares - total**2)
        return root**2 == 2 * squares - total**2
    if n == 4 and not _is_sum_of_three_squares(4 * squares - total**2):  # Of a+b-c-d, a-b+c-d and a-b-c+d.
        return False
    # A number x that occurs c times adds at least c n (x - mean)^2 / (n - c) to the sum of squared deviations.
    deviations = n * squares - total**2
    greatest = min(top, (total + isqrt((n - 1) * deviations)) // n)
    return any(
        _exists(n - count, total - count * value, squares - count * value**2, value - 1)
        for value in range(greatest, each, -1)
        for count in range(n * deviations // ((value * n - total) ** 2 + deviations), 0, -1)
    )


def _is_sum_of_three_squares(number: int) -> bool:
    """Return True if a positive number is the sum of three squares of whole numbers (Legendre's theorem)."""
    while number % 4 == 0:
        number //= 4
    return number % 8 != 7


def _decimal(printed: str | Decimal) -> Decimal:
    try:
        number = Decimal(printed)
    except InvalidOperation:
        raise InputError(
            f"`{printed}` is not a number. Fix: write the number with a decimal point, such as 0.50."
        ) from None
    if not number.is_finite() or abs(number.adjusted()) + len(number.as_tuple().digits) > MOST_DIGITS // 2:
        raise InputError(f"`{printed}` is too large or has too many digits. Fix: correct the number.")
    return number


def _positive(number: int, name: str) -> int:
    if number < 1:
        raise InputError(f"{name} is {number}, but it must be a whole number of at least 1. Fix: correct this number.")
    return number
