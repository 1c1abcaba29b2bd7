"""Renders a draft the way one of many people would have written it. All choices come from one random generator."""

from __future__ import annotations

import ast
import keyword
import random
import re
import textwrap
from dataclasses import dataclass

from . import words
from .draft import Draft, Piece
from .imports import import_lines, keras_names

_PLACEHOLDER = re.compile(r"\b[vfc]_\w+")
_CONSTANT = re.compile(r"\bK_([A-Z0-9_]+)\b")
_SAY = re.compile(r"^([ ]*)SAY\((.*)\)$", re.MULTILINE)


@dataclass(frozen=True)
class Style:
    layout: str  # script | functions | main | class
    constants: str  # globals | dict | dataclass | argparse
    output: str  # fstring | format | logging | percent
    keras: str  # keras | from_tensorflow | tf_keras
    layers: str  # attribute | module | names
    model: str  # list | add | functional
    hints: bool
    comments: bool
    docstring: bool
    losses_as_words: bool


def draw_style(rng: random.Random) -> Style:
    layout = rng.choice(["script", "functions", "main", "main", "class"])
    return Style(
        layout=layout,
        constants=rng.choice(["globals", "globals", "dict", "dataclass", "argparse"]),
        output=rng.choice(["fstring", "fstring", "format", "logging", "percent"]),
        keras=rng.choice(["keras", "keras", "from_tensorflow", "tf_keras"]),
        layers=rng.choice(["attribute", "module", "names"]),
        model=rng.choice(["list", "list", "add", "functional"]),
        hints=rng.random() < 0.3,
        comments=rng.random() < 0.6,
        docstring=rng.random() < 0.6,
        losses_as_words=rng.random() < 0.5,
    )


def render(draft: Draft, rng: random.Random) -> tuple[str, str]:
    """The program's file name and text."""
    style = draw_style(rng)
    if {"jax-backend", "torch-backend"} & draft.features:
        style = Style(**{**style.__dict__, "keras": "keras"})
    draft.slots.setdefault("model", _model(draft, style, rng))
    body = _layout(draft, style, rng)
    body = draft.fill(body)
    if "for v_xb, v_yb in v_train:" in body and rng.random() < 0.2:
        body = body.replace("for v_xb, v_yb in v_train:", "for v_xb, v_yb in tqdm(v_train, leave=False):")
        draft.imports.append("from tqdm import tqdm")
    body = re.sub(r"^[ ]*(.+) = \1\n", "", body, flags=re.MULTILINE)  # a slot that stayed empty
    body = _say(body, style)
    body = _constants(body, draft, style, rng)
    body, extra = keras_names(body, style, words_for_losses=style.losses_as_words)
    head = import_lines(draft, style, body, extra, rng)
    text = _names(f"{head}\n\n{body}", draft, rng)
    if style.docstring:
        text = f'"""{draft.about}"""\n\n{text}'
    file = rng.choice(words.PROGRAMS)
    return file, re.sub(r"\n{4,}", "\n\n\n", text).strip() + "\n"


# --- the model -------------------------------------------------------------------------------------------------


def _model(draft: Draft, style: Style, rng: random.Random) -> str:
    if not draft.layers:
        return ""
    if "torch" in draft.features:
        return _torch_model(draft.layers)
    layers, shape = draft.layers, draft.input_shape
    if style.model == "functional":
        lines = [f"v_inp = keras.Input(shape={shape})", f"v_hid = {layers[0]}(v_inp)"]
        lines += [f"v_hid = {layer}(v_hid)" for layer in layers[1:-1]]
        return "\n".join([*lines, f"v_model = keras.Model(v_inp, {layers[-1]}(v_hid))"])
    if style.model == "add":
        lines = ["v_model = keras.Sequential()", f"v_model.add(keras.Input(shape={shape}))"]
        return "\n".join(lines + [f"v_model.add({layer})" for layer in layers])
    inside = "".join(f"    {layer},\n" for layer in [f"keras.Input(shape={shape})", *layers])
    return f"v_model = keras.Sequential([\n{inside}])"


def _torch_model(layers: list[str]) -> str:
    return "v_model = nn.Sequential(\n" + "".join(f"    {layer},\n" for layer in layers) + ")"


# --- the layout ------------------------------------------------------------------------------------------------


def _layout(draft: Draft, style: Style, rng: random.Random) -> str:
    defs = [draft.fill(text) for text in draft.defs]
    rng.shuffle(defs)
    # A piece of the base that gives back what later pieces use is the same in every layout.
    if style.layout == "script":
        return _join([*defs, *(_commented(piece, piece.body, style, rng) for piece in draft.pieces)], "\n\n")
    if style.layout == "main":
        inside = _join([_commented(piece, piece.body, style, rng) for piece in draft.pieces], "\n\n")
        return _join(
            [*defs, _def("f_main", [], inside, style, first="#CONFIG#"), _guard("f_main()", rng)], "\n\n\n"
        )
    calls = [_call(piece, "") for piece in draft.pieces]
    functions = [
        _def(f"f_{piece.name}", piece.args, _returning(piece), style, hinted=True) for piece in draft.pieces
    ]
    if style.layout == "functions":
        last = _join(calls, "\n")
        if rng.random() < 0.5:
            last = _def("f_main", [], last, style, first="#CONFIG#") + "\n\n\n" + _guard("f_main()", rng)
        shuffled = functions[:]
        rng.shuffle(shuffled)
        return _join([*defs, *shuffled, last], "\n\n\n")
    return _join([*defs, _class(draft, style), _guard("c_App().run()", rng, always=True)], "\n\n\n")


def _class(draft: Draft, style: Style) -> str:
    methods = [
        _def(f"f_{piece.name}", ["self", *piece.args], _returning(piece), style) for piece in draft.pieces
    ]
    run = _def("run", ["self"], "\n".join(_call(piece, "self.") for piece in draft.pieces), style)
    return "class c_App:\n" + textwrap.indent("\n\n".join([*methods, run]), "    ")


def _commented(piece: Piece, body: str, style: Style, rng: random.Random) -> str:
    return f"# {rng.choice(words.COMMENTS[piece.name])}\n{body}" if style.comments else body


def _call(piece: Piece, owner: str) -> str:
    given = f"{', '.join(piece.returns)} = " if piece.returns else ""
    return f"{given}{owner}f_{piece.name}({', '.join(piece.args)})"


def _returning(piece: Piece) -> str:
    return piece.body + (f"\nreturn {', '.join(piece.returns)}" if piece.returns else "")


def _def(
    name: str, args: list[str], body: str, style: Style, *, hinted: bool = False, first: str = ""
) -> str:
    if hinted and style.hints:
        args = [f"{arg}: {words.HINTS[arg]}" if arg in words.HINTS else arg for arg in args]
    end = " -> None" if style.hints and not re.search(r"^return ", body, re.MULTILINE) else ""
    inside = f"{first}\n{body}" if first and style.constants == "argparse" else body
    return f"def {name}({', '.join(args)}){end}:\n" + textwrap.indent(inside, "    ")


def _guard(call: str, rng: random.Random, *, always: bool = False) -> str:
    return f'if __name__ == "__main__":\n    {call}' if always or rng.random() < 0.8 else call


def _join(parts: list[str], between: str) -> str:
    return between.join(part for part in parts if part.strip())


# --- output and constants --------------------------------------------------------------------------------------


def _say(body: str, style: Style) -> str:
    def one(match: re.Match[str]) -> str:
        call = ast.parse(f"f({match[2]})", mode="eval").body
        assert isinstance(call, ast.Call)
        text = ast.literal_eval(call.args[0])
        values = [ast.unparse(arg) for arg in call.args[1:]]
        return match[1] + _line_of_output(text, values, style.output)

    return _SAY.sub(one, body)


def _line_of_output(text: str, values: list[str], output: str) -> str:
    if not values:
        return f"logging.info({text!r})" if output == "logging" else f"print({text!r}, flush=True)"
    joined = ", ".join(values)
    if output == "format":
        return f"print({text!r}.format({joined}), flush=True)"
    if output in ("percent", "logging"):
        old = re.sub(r"\{:?([^}]*)\}", lambda m: f"%{m[1]}" if m[1] else "%s", text.replace("%", "%%"))
        return (
            f"logging.info({old!r}, {joined})"
            if output == "logging"
            else f"print({old!r} % ({joined},), flush=True)"
        )
    parts = iter(values)
    quote = "'" if '"' in joined else '"'
    inside = re.sub(
        r"\{(:?[^}]*)\}",
        lambda m: "{" + next(parts).replace(quote, "'" if quote == '"' else '"') + m[1] + "}",
        text,
    )
    return f"print(f{quote}{inside}{quote}, flush=True)"


def _constants(body: str, draft: Draft, style: Style, rng: random.Random) -> str:
    used = [key for key in draft.constants if re.search(rf"\bK_{key}\b", body)]
    names = {key: rng.choice(words.CONSTANTS.get(key, [key.lower()])) for key in used}
    values = {key: draft.constants[key] for key in used}
    how = style.constants
    if how == "argparse" and (style.layout in ("class",) or "f_main" not in body or draft.defs or not used):
        how = "globals"
    if how == "argparse" and style.layout == "functions":
        how = "dataclass"
    holder = (
        rng.choice(["cfg", "config", "conf", "hp"])
        if how != "argparse"
        else rng.choice(["args", "opts", "flags"])
    )
    forms = {"globals": lambda n: n.upper(), "dict": lambda n: f'{holder}["{n}"]'}
    form = forms.get(how, lambda n: f"{holder}.{n}")
    body = _CONSTANT.sub(lambda m: form(names[m[1]]) if m[1] in names else m[0], body)
    config = ""
    if how == "globals":
        top = "\n".join(f"{names[key].upper()} = {values[key]}" for key in used)
    elif how == "dict":
        top = f"{holder} = {{\n" + "".join(f'    "{names[key]}": {values[key]},\n' for key in used) + "}"
    elif how == "dataclass":
        fields = "".join(f"    {names[key]}: {_type(values[key])} = {values[key]}\n" for key in used)
        top = f"@dataclass\nclass c_Config:\n{fields}\n\n{holder} = c_Config()"
    else:
        top, config = "", _parser(holder, names, values)
    body = body.replace("    #CONFIG#\n", textwrap.indent(config, "    ") + "\n" if config else "")
    return f"{top}\n\n\n{body}" if top and used else body


def _parser(holder: str, names: dict[str, str], values: dict[str, str]) -> str:
    lines = ["parser = argparse.ArgumentParser()"]
    for key, name in names.items():
        lines.append(
            f'parser.add_argument("--{name.replace("_", "-")}", type={_type(values[key])}, default={values[key]})'
        )
    return "\n".join([*lines, f"{holder} = parser.parse_args()"])


def _type(value: str) -> str:
    return type(ast.literal_eval(value)).__name__


# --- names -----------------------------------------------------------------------------------------------------


def _names(text: str, draft: Draft, rng: random.Random) -> str:
    taken = set(re.findall(r"\b[A-Za-z_]\w*\b", text))
    chosen: dict[str, str] = {}
    for name in sorted(set(_PLACEHOLDER.findall(text))):
        options = [draft.names[name]] if name in draft.names else list(words.NAMES.get(name, []))
        rng.shuffle(options)
        plain = name[2:]
        options += [plain, f"{plain}_", f"the_{plain}", f"my_{plain}"]
        chosen[name] = next(
            option for option in options if option not in taken and not keyword.iskeyword(option)
        )
        taken.add(chosen[name])
    return _PLACEHOLDER.sub(lambda m: chosen[m[0]], text)
