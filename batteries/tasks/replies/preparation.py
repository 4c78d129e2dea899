"""Preparing a reply before it is read.

Reasoning, control tokens and markup are removed. Special digits, quotes, dashes and line ends are replaced by those of
ASCII.
"""

import re
import unicodedata

from batteries.tasks.replies import reading
from batteries.tasks.replies.reading import Reading

MOST_CHARACTERS = 24_000
"""Maximum number of characters that are read. Of a longer reply, only the beginning and the end are read."""

MARK = "\u2705"
"""The sign for a chosen option. It replaces a crossed box, and it is added before a line in bold type."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\u20e3\ufffd]"
)
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_TYPOGRAPHY = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u02bc": "'", "\u00b4": "'", "\u201c": '"', "\u201d": '"',
    "\u201e": '"',
    "\u00ab": '"', "\u00bb": '"', "\u300c": '"', "\u300d": '"', "\u300e": '"', "\u300f": '"', "\u2010": "-",
    "\u2011": "-",
    "\u2012": "-", "\u2013": "-", "\u2212": "-", "\u2014": " - ", "\u2015": " - ", "\u3010": "(", "\u3011": ")",
    "\u2044": "/", "\u00a0": " ", "\u2028": "\n", "\u2029": "\n", "\x0b": "\n", "\x0c": "\n", "\x85": "\n",
})  # fmt: skip

_REASONING_NAMES = (
    r"(?:\w{1,20}[:_-])?(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|cot|reason|rationale|"
    r"inner_monologue|internal|planning|plan|steps|chain_of_thought|work|working|"
    r"(?:(?<=<)|(?<=</))(?:explanation|justification))"
)
_REASONING_TAG = re.compile(
    rf"[<\[\u25c1](?P<close>/)?(?P<name>{_REASONING_NAMES})(?:\s[^<>\n]{{0,100}})?[>\]\u25b7]", re.IGNORECASE
)
_ANSWER_TAG = re.compile(r"<(?:final_?)?answer\b[^<>\n]{0,100}>[^<]*</", re.IGNORECASE)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>\s*final\b[^<\n]{0,40}<\|message\|>")
_OTHER_CHANNEL = re.compile(r"<\|channel\|>(?!\s*final\b)")
_CONTROL = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|\A\s*<s>|</s>\s*\Z|<(?:/?bos|/?eos|pad|unk|end_of_turn|start_of_turn|end_of_text|eot_id)>"
    r"|\[/?(?:INST|SYS)\]|<</?SYS>>|\[(?:EOS|DONE|END)\]"
)

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+.-]*[ \t]*$", re.MULTILINE)
_STRUCK = re.compile(r"~~[^~\n]{1,300}~~|<(del|s|strike)>[^<\n]{0,300}</\1>", re.IGNORECASE)
_LINE_TAG = re.compile(r"</?(?:br|p|div|li|ul|ol|tr|table|h[1-6])\b[^<>\n]{0,100}>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][\w:-]{0,30}(?:\s[^<>\n]{0,200})?/?>")
_ENTITY = {"&nbsp;": " ", "&amp;": "&", "&quot;": '"', "&#39;": "'", "&apos;": "'", "&lt;": "<", "&gt;": ">"}
_LINE_START = re.compile(
    r"^[ \t]*(?:(?:>|#{1,6}(?=[ \t])|[*+\u2022\u25cf\u25aa\u25e6\u2023\u00b7-](?=[ \t]))[ \t]*)+", re.MULTILINE
)
_BOLD_LINE = re.compile(r"^[ \t]*(?:[*+-][ \t]+)?(?:\*\*|__)([^*\n]{1,400}?)(?:\*\*|__)[ \t]*$", re.MULTILINE)
_PIPES = re.compile(r"^[ \t]*\|[ \t]*|[ \t]*\|[ \t]*$", re.MULTILINE)
_TABS = re.compile(r"(?<=\S)\t+(?=\S)")
_EMPTY_BOX = re.compile(r"\[ \] ?")
_SPACES = re.compile(r"[^\S\n]+")
_RULE = re.compile(r"^[ \t]*(?:[-*_=+|:][ \t]*){3,}$", re.MULTILINE)
_EMPHASIS = re.compile(r"\*+|(?<![^\W_])_{1,3}(?=\S)|(?<=\S)_{1,3}(?![^\W_])|`+")
_LATEX_FONT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathsf|operatorname|emph|bf|rm|displaystyle)\b\s*")
_LATEX_SIGN = re.compile(r"\\[()\[\],;!]|\$+")
_CHECKBOX = re.compile(r"\[[xX]\]|\([xX]\)(?=[ \t])")
_LINE_NUMBER = re.compile(r"^[ \t]*line[ \t]{0,3}[1-4][ \t]{0,3}[:.)-][ \t]*", re.MULTILINE | re.IGNORECASE)


def normalized(reply: str) -> str:
    r"""Return a reply with digits, quotes, dashes and line ends of ASCII, and without invisible characters.

    Examples
    --------
    >>> normalized("\ufeffAnswer\uff1a \uff12\r\n")
    'Answer: 2'
    """
    text = _INVISIBLE.sub("", _shortened(reply, 4 * MOST_CHARACTERS).replace("\r\n", "\n").replace("\r", "\n"))
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.replace("\u2116", "No.")).translate(_TYPOGRAPHY)
        text = _INVISIBLE.sub("", _OTHER_DIGIT.sub(lambda digit: str(unicodedata.digit(digit[0], 0)), text))
    return text.strip()


def answer_text(reply: str) -> str | Reading:
    """Return a reply, normalized and without its reasoning; if nothing is left, return why the reply is invalid.

    Examples
    --------
    >>> answer_text("<think>1 or 2?</think>2")
    '2'
    >>> answer_text("<think>1 or 2?</think>").rule
    'only_reasoning'
    """
    text = normalized(reply)
    if not text:
        return Reading.invalid(reading.EMPTY)
    answer = without_reasoning(text)
    if not answer:
        return Reading.invalid(reading.ONLY_REASONING if _contains_reasoning(text) else reading.NO_ANSWER)
    return answer


def _contains_reasoning(text: str) -> bool:
    """Return True if a normalized reply contains a tag or channel of reasoning."""
    return bool(_REASONING_TAG.search(text) or _OTHER_CHANNEL.search(text))


def without_reasoning(text: str) -> str:
    """Return a normalized reply without its reasoning. Reasoning without a closing tag extends to the end of the reply.

    Some chat templates write the opening tag into the prompt, so that only the closing tag is in the reply. If
    reasoning without a closing tag contains answer tags, the answer between these tags is kept.

    Examples
    --------
    >>> without_reasoning("<think>1 or 2?</think>2")
    '2'
    >>> without_reasoning("<think>It could be 1")
    ''
    """
    *_, final = [None, *_FINAL_CHANNEL.finditer(text)]
    if final is not None:
        text = text[final.end() :]
    elif (other := _OTHER_CHANNEL.search(text)) is not None:
        text = text[: other.start()]
    return _CONTROL.sub("\n", _shortened(_without_blocks(text), MOST_CHARACTERS)).strip()


def _without_blocks(text: str) -> str:
    kept: list[str] = []
    open_names: list[str] = []
    position = 0
    for tag in _REASONING_TAG.finditer(text):
        name = tag["name"].lower()
        if tag["close"] and name in open_names:
            del open_names[open_names.index(name) :]
        elif tag["close"] and not open_names:
            kept.clear()
        elif not tag["close"]:
            if not open_names:
                kept.append(text[position : tag.start()])
            open_names.append(name)
        if not open_names:
            position = tag.end()
    if not open_names:
        kept.append(text[position:])
    elif (answer := _ANSWER_TAG.search(text, position)) is not None:
        kept.append(text[answer.start() :])
    return "\n".join(kept)


def _shortened(text: str, most: int) -> str:
    """Return a text. If the text has more characters than allowed, return only its beginning and its end."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}\n{text[-half:]}"


def without_markup(text: str) -> str:
    r"""Return a text without code fences, HTML, Markdown and LaTeX.

    Examples
    --------
    >>> without_markup("## **Answer:** $\\text{B}$")
    'Answer:  {B}'
    """
    text = _SPACES.sub(" ", _TABS.sub(" | ", text))
    text = _STRUCK.sub(" ", _FENCE.sub("", _EMPTY_BOX.sub("", text)))
    text = _BOLD_LINE.sub(f"{MARK} \\1", text)
    text = _TAG.sub("", _LINE_TAG.sub("\n", text))
    for entity, character in _ENTITY.items():
        text = text.replace(entity, character)
    text = _LATEX_SIGN.sub(" ", _LATEX_FONT.sub("", text))
    text = _PIPES.sub("", _LINE_START.sub("", _RULE.sub("", text)))
    text = _CHECKBOX.sub(MARK, text)
    return _LINE_NUMBER.sub("", _EMPHASIS.sub("", text)).strip()
