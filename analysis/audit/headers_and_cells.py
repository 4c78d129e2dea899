"""Recognition of headers and cells in published tables.

The role of a column is the kind of number in it, such as `mean` or `p`.

Cells are read as text, because the number of printed decimals matters: `0.50` was rounded to two decimals, `0.5` to one
decimal.
"""

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from analysis.statistics.grim import rounding_bounds


@dataclass(frozen=True)
class Role:
    """A role of a column, and the headers by which the audit recognizes this role."""

    meaning: str
    headers: tuple[str, ...]
    """The headers, as `plain` returns them: in lower case and without typography."""


def _with_levels(*headers: str) -> tuple[str, ...]:
    """Return each header without a confidence level, and with each of the levels 90, 95 and 99 %."""
    levels = ("", "90%", "90 %", "95%", "95 %", "99%", "99 %")
    return tuple(dict.fromkeys(" ".join(header.format(level).split()) for header in headers for level in levels))


ROLES = {
    "label": Role("subject of the row: a group, a condition, a test", ()),
    "participants": Role(
        "participants in the row, after exclusions",
        ("participants", "final participants", "n participants", "number of participants", "subjects", "n subjects",
         "number of subjects", "included participants", "participants included", "analysed participants"),
    ),
    "excluded_participants": Role(
        "excluded participants", ("excluded participants", "participants excluded", "n excluded participants"),
    ),
    "recruited_participants": Role(
        "participants before exclusions", ("recruited participants", "participants recruited", "recruited", "enrolled"),
    ),
    "trials": Role(
        "trials, responses or observations in the row, after exclusions",
        ("trials", "final trials", "n trials", "number of trials", "included trials", "trials included", "observations",
         "n observations", "number of observations", "n obs", "num.obs.", "responses", "answers", "predictions"),
    ),
    "excluded_trials": Role("excluded trials", ("excluded trials", "trials excluded", "n excluded trials")),
    "n": Role("number of values in the row's mean or percentage", ("n", "sample size", "total n", "n total")),
    "n1": Role("participants in the first group of a test", ("n1", "n 1")),
    "n2": Role("participants in the second group of a test", ("n2", "n 2")),
    "correct": Role(
        "number of right or yes responses",
        ("correct", "n correct", "number correct", "correct answers", "correct trials", "correct responses", "hits"),
    ),
    "percentage": Role(
        "percentage or proportion",
        ("%", "percent", "percentage", "accuracy", "accuracy (%)", "accuracy %", "mean accuracy", "proportion",
         "proportion correct", "percent correct", "percentage correct", "% correct"),
    ),
    "mean": Role("mean", ("m", "mean", "mean rating", "mean score", "average")),
    "sd": Role("standard deviation", ("sd", "s.d.", "std", "std dev", "std. dev.", "standard deviation")),
    "mean_sd": Role(
        "mean and standard deviation in one cell, such as `5.2 (1.3)`",
        ("m (sd)", "mean (sd)", "m ± sd", "mean ± sd", "m sd", "mean sd", "m [sd]", "mean [sd]"),
    ),
    "se": Role(
        "standard error of the mean or of the estimate",
        ("se", "s.e.", "sem", "s.e.m.", "se mean", "std error", "std. error", "std err", "std. err.", "standard error",
         "standard error of the mean"),
    ),
    "estimate": Role(
        "estimated difference or coefficient, in the same unit as its standard error (not exponentiated)",
        ("b", "estimate", "est", "est.", "coefficient", "coef", "coef.", "mean difference", "log odds"),
    ),
    "ratio": Role(
        "exponentiated estimate; a confidence interval may be an interval of this ratio",
        ("odds ratio", "or", "exp(b)", "exp(estimate)", "hazard ratio", "hr", "rate ratio", "irr", "risk ratio"),
    ),
    "ci": Role(
        "confidence interval in one cell, such as `[1.2, 3.4]`; 95 %, if the header does not state another level",
        _with_levels("{} ci", "ci {}", "{} confidence interval", "{} ci [ll, ul]"),
    ),
    "ci_low": Role(
        "lower bound of a confidence interval",
        (*_with_levels("{} ci lower", "{} ci low", "ci lower {}", "ci low {}", "lower {} ci", "{} ci ll"),
         "ll", "lower", "lower bound", "lower limit", "lower.cl", "asymp.lcl", "conf.low", "2.5%", "2.5 %"),
    ),
    "ci_high": Role(
        "upper bound of a confidence interval",
        (*_with_levels("{} ci upper", "{} ci high", "ci upper {}", "ci high {}", "upper {} ci", "{} ci ul"),
         "ul", "upper", "upper bound", "upper limit", "upper.cl", "asymp.ucl", "conf.high", "97.5%", "97.5 %"),
    ),
    "items": Role("number of items in each participant's value", ("items", "n items", "number of items")),
    "statistic": Role(
        "test statistic, with its name in the cell (`t = 2.31`, `F(2, 45) = 3.1`) or in the column `test`",
        ("statistic", "test statistic", "test statistics", "test stat", "test stats", "test value"),
    ),
    "t": Role("t", ("t", "t value", "t statistic", "t stat", "t ratio")),
    "F": Role("F", ("f", "f value", "f statistic", "f stat", "f ratio")),
    "chi2": Role(
        "chi-square",
        ("chi2", "chi 2", "chisq", "chi sq", "chi square", "chi squared", "chi2 value", "chi square value", "x2"),
    ),
    "z": Role("z", ("z", "z value", "z statistic", "z stat", "wald z")),
    "wald": Role("Wald's chi-square with 1 degree of freedom", ("wald", "wald chi2", "wald chi square", "wald chisq")),
    "r": Role("correlation", ("r", "pearson r", "pearson's r", "correlation")),
    "df": Role("degrees of freedom; for F, both numbers", ("df", "d.f.", "dof", "degrees of freedom")),
    "df1": Role("degrees of freedom of the effect", ("df1", "df 1", "num df", "numerator df", "df effect")),
    "df2": Role("degrees of freedom of the error", ("df2", "df 2", "den df", "denominator df", "df error")),
    "p": Role(
        "p value",
        ("p", "p value", "p val", "sig", "sig.", "significance", "pr(>|t|)", "pr(>|z|)", "pr(>f)", "pr(>chisq)"),
    ),
    "test": Role("name of the test, in words", ("test", "method", "statistical test", "test type", "test used")),
    "groups": Role("number of groups in an analysis of variance", ("k", "groups", "n groups", "number of groups")),
    "shape": Role("size of the table of a chi-square test, such as `2 x 3`", ("shape", "table size", "rows x columns")),
    "conclusion": Role(
        "conclusion at the level .05", ("conclusion", "decision", "significant", "significant?"),
    ),
}  # fmt: skip

STATISTICS = ("t", "F", "chi2", "z", "r")

_NUMBER = r"[-+]?(?:\d{1,12}(?:\.\d{0,20})?|\.\d{1,20})(?:e(?:\+?0?\d|-\d{1,2}))?"
"""Pattern of a number. If a text has more digits than this pattern allows, it is not read as a number."""
_CELL = re.compile(
    rf"(?:[a-z][\w ]*(?=[=<>]))?(?P<relation>[<>=])?\s*(?P<number>{_NUMBER})\s*(?P<percent>%?)"
    r"(?:\s*[*+†‡a-d]{0,3}|\s*(?:±|\(|\[).*)"
)
_MEAN_SD = re.compile(rf"(?P<mean>{_NUMBER})\s*(?:±|\(|\[|\s)\s*(?:sd\s*=?\s*)?(?P<sd>{_NUMBER})\s*[)\]]?")
_INTERVAL = re.compile(
    rf"(?:\d\d(?:\.\d)?\s*% )?(?:ci\s*)?[\[(]?\s*(?P<low>{_NUMBER})\s*(?:[,;]|to\b|-)\s*(?P<high>{_NUMBER})\s*[\])]?"
)
_RESULT = re.compile(
    rf"(?:(?P<kind>t|f|z|r|chi-?2?|chi-?sq\w*|x2)\s*(?:\((?P<df>[^)]*)\))?\s*=\s*)?(?P<value>{_NUMBER})[*†]*"
    rf"(?:\s*[,;]\s*p\s*(?P<relation>[<>=])\s*(?P<p>{_NUMBER}))?"
)
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_NOTHING = {"", "-", "--", "---", "/", "na", "n/a", "nan", "none", "."}
_NOT_SIGNIFICANT = {"ns", "n.s.", "n. s."}


@dataclass(frozen=True)
class Printed:
    """A number as it was printed."""

    number: Decimal
    """The number with its decimals: `Decimal("0.50")` has two decimals."""
    relation: str = "="
    """`=`, `<` or `>`."""
    percent: bool = False
    """True if a percent sign is printed after the number."""

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The lowest and the highest value that round to this number."""
        return rounding_bounds(self.number)

    @property
    def decimals(self) -> int:
        """Number of printed decimals."""
        exponent = self.number.as_tuple().exponent
        assert isinstance(exponent, int)
        return max(0, -exponent)

    def __str__(self) -> str:
        return f"{'' if self.relation == '=' else self.relation + ' '}{self.number}{'%' * self.percent}"


@dataclass(frozen=True)
class PrintedResult:
    """The result of a test in one cell, such as `F(2, 45) = 3.18, p = .051`."""

    statistic: Decimal
    kind: str | None = None
    """The kind of statistic (one of `STATISTICS`), such as `t` or `F`; None if the cell does not state the kind."""
    dfs: tuple[Decimal, ...] = ()
    p: Printed | None = None


def plain(text: str) -> str:
    r"""Return a header or cell without its typography: lower case, plain minus signs, no tags and no TeX.

    Examples
    --------
    >>> plain("<b>Final_participants</b>"), plain("$\\chi^2=6.35$"), plain("\u22120.28"), plain("P-Value")
    ('final participants', 'chi2=6.35', '-0.28', 'p-value')
    """
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"</?[a-zA-Z][^<>]*>|\\(?:left|right|mathrm|text|,|;|!)|[$\\{}^]", "", text)
    text = text.replace("χ", "chi").replace("_", " ").replace("≤", "<").replace("≥", ">")
    text = re.sub("[\u2212\u2013\u2012\u2014]", "-", text).replace("×", "x")
    return " ".join(text.casefold().split())


def role_of(header: str) -> str | None:
    """Return the role of the column with this header, or None if the header is unknown."""
    words = plain(header).replace("-", " ")
    return next((role for role, known in ROLES.items() if words in known.headers), None)


def is_empty(cell: str) -> bool:
    """Return True if a cell is empty."""
    return plain(cell) in _NOTHING


def read_number(cell: str) -> Printed | None:
    """Return the number at the start of a cell, or None if the cell has no readable number.

    After the number, there may be stars, brackets with any content, or a plus-minus sign with any text.

    Examples
    --------
    >>> str(read_number("1,303")), str(read_number("85.10%")), str(read_number("p < .001")), read_number("0,50")
    ('1303', '85.10%', '< 0.001', None)
    """
    found = _CELL.fullmatch(_without_commas(plain(cell)))
    if found is None:
        return Printed(Decimal("0.05"), ">") if plain(cell) in _NOT_SIGNIFICANT else None
    return Printed(Decimal(found["number"]), found["relation"] or "=", bool(found["percent"]))


def read_mean_sd(cell: str) -> tuple[Printed, Printed] | None:
    """Return mean and standard deviation of one cell, or None if the cell does not have both.

    Examples
    --------
    >>> [str(number) for number in read_mean_sd("5.20 (1.31)")]
    ['5.20', '1.31']
    """
    found = _MEAN_SD.fullmatch(_without_commas(plain(cell)))
    return found and (Printed(Decimal(found["mean"])), Printed(Decimal(found["sd"])))


def read_interval(cell: str) -> tuple[Printed, Printed] | None:
    """Return the bounds of a confidence interval in one cell, or None if the cell does not have two numbers.

    Examples
    --------
    >>> [str(bound) for bound in read_interval("95% CI [\u22120.20, 1.31]")]
    ['-0.20', '1.31']
    """
    found = _INTERVAL.fullmatch(_without_commas(plain(cell)))
    return found and (Printed(Decimal(found["low"])), Printed(Decimal(found["high"])))


def read_result(cell: str) -> PrintedResult | None:
    r"""Return the result of a test in a cell, or None if the cell has no readable result.

    Examples
    --------
    >>> read_result("f=6.8661")
    PrintedResult(statistic=Decimal('6.8661'), kind='F', dfs=(), p=None)
    >>> read_result("$\\chi^2$(3, N = 75) = 6.35").dfs
    (Decimal('3'),)
    """
    text = plain(cell)
    found = _RESULT.fullmatch(text)
    if found is None:
        return None
    kind = found["kind"]
    if kind is not None:
        kind = {"t": "t", "f": "F", "z": "z", "r": "r"}.get(kind, "chi2")
    p = Printed(Decimal(found["p"]), found["relation"]) if found["p"] else None
    return PrintedResult(Decimal(found["value"]), kind, read_dfs(found["df"] or "", both=kind == "F") or (), p)


def read_dfs(cell: str, *, both: bool) -> tuple[Decimal, ...] | None:
    """Return the degrees of freedom in a cell, without the number of observations, or None if the cell is unreadable.

    If `both` is true (for F), a comma separates two degrees of freedom. Otherwise a comma separates thousands.

    Examples
    --------
    >>> read_dfs("(2, 45.31)", both=True), read_dfs("3, N = 75", both=False), read_dfs("12,809", both=False)
    ((Decimal('2'), Decimal('45.31')), (Decimal('3'),), (Decimal('12809'),))
    """
    text = plain(cell).strip("() ")
    parts = re.split(r"[,;/]\s*", text if both else _without_commas(text))
    parts = [part for part in parts if not re.match(r"n\s*=", part)]
    if not 1 <= len(parts) <= 1 + both or not all(re.fullmatch(_NUMBER, part) for part in parts):
        return None
    return tuple(Decimal(part) for part in parts)


def read_shape(cell: str) -> tuple[int, int] | None:
    """Return the numbers of rows and columns from a text such as `2 x 3`.

    Examples
    --------
    >>> read_shape("2 × 3")
    (2, 3)
    """
    found = re.fullmatch(r"(\d+)\s*(?:x|by|,)\s*(\d+)", plain(cell))
    return found and (int(found[1]), int(found[2]))


def _without_commas(text: str) -> str:
    return _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
