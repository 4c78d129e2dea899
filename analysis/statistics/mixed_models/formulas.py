"""Model formulas in R's notation, such as `rt ~ model * prompt + (1 | participant)`, as terms.

The notation is that of Wilkinson and Rogers (1973) as R reads it, with lme4's brackets for random effects. Terms are in
R's order: they are sorted by number of variables. The variables of a term are in the order in which they first appear
in the formula.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from batteries.errors import InputError

Term = tuple[str, ...]
"""The variables of a term. The intercept has no variables."""

EXAMPLE = "`rt_ms ~ model * prompt + (1 + prompt | participant) + (1 | item)`"
HIGHEST_POWER = 10

_TOKEN = re.compile(
    r"\s*(?:`(?P<quoted>[^`]+)`|(?P<name>\.?[^\W\d][\w.]*)|(?P<number>\d+)|(?P<symbol>\|\||[~+\-*:^/()|]))"
)
_END = ("end", "")


@dataclass(frozen=True)
class RandomTerm:
    """The random effects of one bracket, `(1 + slopes | group)`."""

    intercept: bool
    slopes: tuple[Term, ...]
    group: tuple[str, ...]
    """The columns that define the groups. If there are several columns, each combination of values is a group."""

    @property
    def group_name(self) -> str:
        return ":".join(self.group)


@dataclass(frozen=True)
class Formula:
    """The outcome, fixed effects and random effects of a formula."""

    text: str
    outcome: str
    log_outcome: bool
    """True if the model is of the natural logarithm of the outcome, as in `log(rt_ms) ~ prompt`."""
    intercept: bool
    terms: tuple[Term, ...]
    """Fixed effects, without the intercept."""
    random: tuple[RandomTerm, ...]
    factors: frozenset[str]
    """Columns in `factor()`, which are factors even if they contain numbers."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """The columns of the fixed effects and the random slopes, without duplicates."""
        slopes = (slope for bracket in self.random for slope in bracket.slopes)
        return tuple(dict.fromkeys(variable for term in (*self.terms, *slopes) for variable in term))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns in the formula, without duplicates."""
        groups = (column for bracket in self.random for column in bracket.group)
        return tuple(dict.fromkeys((self.outcome, *self.predictors, *groups)))


def parse_formula(text: str) -> Formula:
    """Return the outcome, fixed effects and random effects of the formula `text`.

    Parameters
    ----------
    text : str
        `outcome ~ terms`. Terms are joined by `+`. `a:b` is an interaction; `a * b` means `a + b + a:b`; `(a + b)^2`
        means all main effects and all interactions of two variables. `- a` removes a term; `0` or `- 1` removes the
        intercept. `log(outcome)` is the natural logarithm of the outcome. `factor(a)` is the column `a` as a factor,
        also if it contains numbers. Random effects are `(1 | g)`, `(1 + x | g)`, `(1 | a:b)`, and `(1 | a/b)` for
        `(1 | a) + (1 | a:b)`. Names with characters other than letters, digits, dots and underscores must be in
        backticks.

    Raises
    ------
    InputError
        The formula is invalid. The message quotes the formula and shows a valid formula.

    References
    ----------
    Wilkinson, G. N., & Rogers, C. E. (1973). Symbolic description of factorial models for analysis of variance. Applied
    Statistics, 22, 392-399.
    Bates, D., Mächler, M., Bolker, B., & Walker, S. (2015). Fitting linear mixed-effects models using lme4. Journal of
    Statistical Software, 67(1).

    Examples
    --------
    >>> formula = parse_formula("rt ~ model * prompt + (1 | lab/participant)")
    >>> formula.terms
    (('model',), ('prompt',), ('model', 'prompt'))
    >>> [bracket.group_name for bracket in formula.random]
    ['lab', 'lab:participant']
    """
    return _Parser(text).formula()


_Terms = list[frozenset[str]]
_INTERCEPT: frozenset[str] = frozenset()


class _Parser:
    """Parser that reads a formula from left to right. Each level of R's operator precedence has its own method."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokens()
        self.place = 0
        self.variables: dict[str, None] = {}
        """Variables in the order of their first appearance in the current part of the formula."""
        self.factors: set[str] = set()
        self.bare: set[str] = set()
        """Variables that are written without `factor()`."""

    def formula(self) -> Formula:
        outcome = self._name("must begin with the name of the outcome")
        log_outcome = outcome == "log" and self._took("(")
        if log_outcome:
            outcome = self._name("lacks the name of the outcome in `log()`")
            self._expect(")", "needs one column in `log()`")
        self._expect("~", "needs `~` after the outcome")
        random: list[RandomTerm] = []
        found = self._sum([_INTERCEPT], random)
        if self._peek() != _END:
            raise self._stray()
        terms = self._ordered(found)
        if outcome in self.variables:
            raise self._error(f"has `{outcome}` on both sides of `~`")
        if not found:
            raise self._error("has no fixed effect, not even an intercept")
        groups = [frozenset(bracket.group) for bracket in random]
        for bracket, group in zip(random, groups, strict=True):
            if groups.count(group) > 1:
                raise self._error(
                    f"has more than one random effect for `{bracket.group_name}`; put all these effects in one "
                    f"bracket, such as `(1 + slope | {bracket.group_name})`, because the correlations of "
                    "these effects are estimated"
                )
        for name in sorted(self.factors & self.bare):
            raise self._error(f"has both `{name}` and `factor({name})`; write one of them everywhere")
        factors = frozenset(self.factors)
        return Formula(self.text, outcome, log_outcome, _INTERCEPT in found, terms, tuple(random), factors)

    def _sum(self, terms: _Terms, random: list[RandomTerm] | None) -> _Terms:
        """Read terms joined by `+` and `-`, and append random effects to `random`.

        If `random` is None, random effects are not allowed.
        """
        sign = self._next()[1] if self._peek()[1] in ("+", "-") else "+"
        while True:
            if random is not None and self._at_random_effect():
                if sign == "-":
                    raise self._error("removes a random effect with `-`; leave the random effect out instead")
                random.extend(self._random_effect())
            else:
                negated, found = self._addend()
                if (sign == "-") != negated:
                    terms = [term for term in terms if term not in found]
                else:
                    terms = _union(terms, found)
            if self._peek()[1] not in ("+", "-"):
                return terms
            sign = self._next()[1]

    def _addend(self) -> tuple[bool, _Terms]:
        """Return a flag and the next terms. The flag is true if the formula removes the terms.

        `0` removes the intercept.
        """
        if self._peek()[0] == "number":
            number = self._next()[1]
            if number not in ("0", "1") or self._peek()[1] in ("*", ":", "^"):
                raise self._error(f"has the number {number}; only the numbers 0 and 1 can be terms")
            return number == "0", [_INTERCEPT]
        return False, self._product()

    def _product(self) -> _Terms:
        terms = self._interaction()
        while self._took("*"):
            other = self._interaction()
            terms = _union(_union(terms, other), _crossed(terms, other))
        return terms

    def _interaction(self) -> _Terms:
        terms = self._power()
        while self._took(":"):
            terms = _crossed(terms, self._power())
        return terms

    def _power(self) -> _Terms:
        terms = self._primary()
        while self._took("^"):
            kind, number = self._next()
            if kind != "number" or not 1 <= int(number) <= HIGHEST_POWER:
                raise self._error(f"needs a whole number from 1 to {HIGHEST_POWER} after `^`")
            base = terms
            for _ in range(int(number) - 1):
                terms = _union(terms, _crossed(terms, base))
        return terms

    def _primary(self) -> _Terms:
        if self._took("("):
            terms = self._sum([], None)
            self._expect(")", None)
            return terms
        name = self._name("lacks the name of a column")
        if name == "factor" and self._took("("):
            name = self._name("lacks the name of a column in `factor()`")
            self._expect(")", "needs one column in `factor()`")
            self.factors.add(name)
        else:
            self.bare.add(name)
        self.variables.setdefault(name)
        return [frozenset([name])]

    def _at_random_effect(self) -> bool:
        """Return True if the next bracket has a bar (`|` or `||`) that is not in an inner bracket."""
        depth = 0
        for kind, value in self.tokens[self.place :]:
            depth += (value == "(") - (value == ")") if kind == "symbol" else 0
            if depth == 0:
                return False
            if depth == 1 and kind == "symbol" and value in ("|", "||"):
                return True
        return False

    def _random_effect(self) -> list[RandomTerm]:
        self._expect("(", None)
        fixed_variables, self.variables = self.variables, {}
        found = self._sum([_INTERCEPT], None)
        slopes = self._ordered(found)
        self.variables = fixed_variables
        bar = self._next()[1]
        if bar not in ("|", "||"):
            raise self._error("has a random effect without `|`")
        if not found:
            raise self._error("has a random effect without a term before `|`")
        nested: tuple[str, ...] = ()
        brackets = []
        while True:
            nested = tuple(dict.fromkeys((*nested, *self._group())))
            brackets.append(RandomTerm(_INTERCEPT in found, slopes, nested))
            if not self._took("/"):
                break
        self._expect(")", "needs the name of a column, `a:b` or `a/b` after `|`, and then `)`")
        if bar == "||" and slopes:
            raise self._uncorrelated(brackets[-1])
        return brackets

    def _group(self) -> list[str]:
        columns = [self._name("lacks the grouping column after `|`")]
        while self._took(":"):
            columns.append(self._name("lacks the grouping column after `:`"))
        return columns

    def _ordered(self, terms: Iterable[frozenset[str]]) -> tuple[Term, ...]:
        """Return the terms in R's order, without the intercept."""
        order = {variable: place for place, variable in enumerate(self.variables)}
        named = (tuple(sorted(term, key=order.__getitem__)) for term in terms if term)
        return tuple(sorted(named, key=len))

    def _tokens(self) -> list[tuple[str, str]]:
        tokens = []
        place = 0
        text = self.text.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._error(f"cannot be read; the part that begins with `{text[place:].strip()[:20]}` is invalid")
            kind = str(match.lastgroup)
            tokens.append(("name" if kind == "quoted" else kind, match[kind]))
            place = match.end()
            possible = "factor" if len(tokens) > 1 else "log"
            if kind == "name" and match[kind] != possible and text[place:].lstrip().startswith("("):
                raise self._error(
                    f"calls the function `{match[kind]}()`, but only `log()` of the outcome and `factor()` of other "
                    "columns are possible; compute a new column first, and use its name"
                )
        return tokens

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else _END

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self.place += 1
        return token

    def _took(self, symbol: str) -> bool:
        found = self._peek() == ("symbol", symbol)
        self.place += found
        return found

    def _expect(self, symbol: str, otherwise: str | None) -> None:
        if not self._took(symbol):
            raise self._error(otherwise) if otherwise else self._stray()

    def _name(self, otherwise: str) -> str:
        kind, value = self._peek()
        if kind != "name":
            raise self._error(f"{otherwise}; {f'`{value}` is' if value else 'the formula ends'} at this position")
        self.place += 1
        return value

    def _stray(self) -> InputError:
        kind, value = self._peek()
        if value in ("|", "||"):
            return self._error(f"has `{value}` outside a bracket; add random effects as `+ (1 | group)`")
        if kind == "end":
            return self._error("ends before a bracket is closed")
        return self._error(f"has `{value}` where `+` or the end is expected")

    def _uncorrelated(self, bracket: RandomTerm) -> InputError:
        """Return the error for `||`, because the engine always estimates the correlations of random effects."""
        group = bracket.group_name
        slopes = [":".join(slope) for slope in bracket.slopes]
        independent = " + ".join(f"(1 | {group}:{slope})" for slope in slopes)
        return InputError(
            f"the formula `{self.text}` has `||` (random slopes without correlations), which Equipoise cannot fit. "
            f"Fix: write `(1 + {' + '.join(slopes)} | {group})`, with correlations, or for factors `(1 | {group}) + "
            f"{independent}`, with independent effects of equal variance."
        )

    def _error(self, what: str) -> InputError:
        return InputError(f"the formula `{self.text}` {what}. Fix: write a formula such as {EXAMPLE}.")


def _union(terms: _Terms, others: _Terms) -> _Terms:
    return list(dict.fromkeys((*terms, *others)))


def _crossed(terms: _Terms, others: _Terms) -> _Terms:
    return list(dict.fromkeys(term | other for term in terms for other in others))
