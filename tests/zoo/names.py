"""The same program under other names: no cause may depend on what a user calls things."""

from __future__ import annotations

import ast
import io
import random
import re
import tokenize

_WORDS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "islet",
    "juniper",
    "larch",
    "otter",
)


def own_names(source: str) -> set[str]:
    """Names that the program's own top level gives to functions, classes and variables."""
    names: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("__")}


def rename(source: str, seed: int) -> str:
    """`source` with its own top-level names replaced; attributes and keyword arguments keep theirs."""
    words = random.Random(seed)
    taken = {token.string for token in tokenize.generate_tokens(io.StringIO(source).readline)}
    other: dict[str, str] = {}
    for name in sorted(own_names(source)):
        word = f"{words.choice(_WORDS)}_{len(other)}"
        other[name] = word.title().replace("_", "") if name[0].isupper() and not name.isupper() else word
    assert not taken & set(other.values())
    changed, depth, before = [], 0, ""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
        keyword = depth > 0 and after.string == "=" and before in "(,"
        if token.type == tokenize.NAME and token.string in other and before != "." and not keyword:
            token = token._replace(string=other[token.string])
        elif token.type == tokenize.STRING and token.string[0] in "fF":  # one token before Python 3.12
            token = token._replace(string=_within_braces(token.string, other))
        changed.append(token)
        before = token.string if token.type not in (tokenize.NL, tokenize.COMMENT) else before
    return _untokenize(changed, source)


def _within_braces(text: str, other: dict[str, str]) -> str:
    """An f-string with the names in its expressions replaced; attributes keep theirs."""
    return re.sub(
        r"\{[^{}]*\}",
        lambda part: re.sub(r"(?<![.\w])\w+", lambda name: other.get(name[0], name[0]), part[0]),
        text,
    )


def _untokenize(tokens: list[tokenize.TokenInfo], source: str) -> str:
    """Put the changed names back into the lines, from the right so that columns stay true."""
    lines = source.splitlines(keepends=True)
    originals = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for new, old in reversed(list(zip(tokens, originals, strict=True))):
        if new.string != old.string:
            row, column = old.start
            line = lines[row - 1]
            lines[row - 1] = line[:column] + new.string + line[column + len(old.string) :]
    return "".join(lines)
