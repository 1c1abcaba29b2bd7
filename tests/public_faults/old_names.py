"""A program written for Keras 1 and 2, in the names of Keras 3. Only names change, never what the program computes."""

from __future__ import annotations

import ast
import copy

from .names import (
    DROPPED,
    FIT_KEYWORDS,
    FLAT,
    IMPORTED_NAMES,
    LAYER_KEYWORDS,
    LAYER_MODULES,
    MODULES,
    OPTIMIZER_NAMES,
    OPTIMIZERS,
    TRAINING,
)


def modern(source: str, *, epochs: int | None = None, lists: bool = False) -> str:
    """`source` in today's names.

    `epochs` replaces the number of epochs of every `fit` that asks for more. `lists` turns lists of numbers that are
    given to `fit`, `evaluate` and `predict` into arrays, as Keras 2 did.
    """
    parsed = _parsed(source)
    _without_tools(parsed)
    tree = _Renamer(epochs, lists=lists).visit(parsed)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _parsed(source: str) -> ast.Module:
    source = source.replace("\r\n", "\n").replace("\t", "    ").lstrip("\ufeff")
    lines = source.splitlines()  # `%matplotlib inline` and `!pip install` of notebooks
    source = "\n".join("#" + line if line.lstrip()[:1] in ("%", "!") else line for line in lines) + "\n"
    try:
        return ast.parse(source)
    except SyntaxError:  # Python 2
        from lib2to3.pgen2.parse import ParseError
        from lib2to3.refactor import RefactoringTool, get_fixers_from_package

        fixers = get_fixers_from_package("lib2to3.fixes")
        try:
            return ast.parse(str(RefactoringTool(fixers).refactor_string(source, "program")))
        except ParseError as error:
            raise SyntaxError(f"neither Python 3 nor Python 2: {error}") from error


def _without_tools(tree: ast.Module) -> None:
    """Without the callback and the `sys.exit(1)` that a set's authors added for a diagnosis tool of their own.

    The program still ends there, but not as a failure.
    """
    for number, statement in enumerate(tree.body):
        if ast.unparse(statement).startswith(("sys.exit(", "exit(", "quit(")):
            del tree.body[number:]
            break
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "callbacks" and isinstance(node.value, ast.List):
            node.value.elts = [one for one in node.value.elts if "DeepLocalize" not in ast.unparse(one)]


class _Renamer(ast.NodeTransformer):
    def __init__(self, epochs: int | None, *, lists: bool) -> None:
        self.epochs = epochs
        self.lists = lists
        self.time_is_a_module = False

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.stmt]:
        module = today(node.module or "")
        if node.level or module.partition(".")[0] not in (
            "keras",
            "tensorflow",
            "sklearn",
            "old_keras_wrappers",
        ):
            return node
        return [_imported(module, alias) for alias in node.names]

    def visit_Import(self, node: ast.Import) -> ast.AST:
        self.time_is_a_module |= any(alias.name == "time" for alias in node.names)
        for alias in node.names:
            if today(alias.name) != alias.name and alias.asname:
                alias.name = today(alias.name)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        """`add(Layer(batch_input_shape=…))` needs an `Input` of its own today."""
        self.generic_visit(node)
        call = node.value
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "plt.hold":
            return ast.Pass()
        layer = (
            call.args[0] if isinstance(call, ast.Call) and _ends(call.func) == "add" and call.args else None
        )
        shapes = (
            [one for one in layer.keywords if one.arg == "batch_shape"] if isinstance(layer, ast.Call) else []
        )
        if not shapes or _ends(layer.func) in ("Input", "InputLayer"):  # type: ignore[union-attr]
            return node
        layer.keywords.remove(shapes[0])  # type: ignore[union-attr]
        first = copy.deepcopy(node)
        entry = ast.parse("__import__('keras').Input()", mode="eval").body
        entry.keywords = [shapes[0]]  # type: ignore[attr-defined]
        first.value.args = [entry]  # type: ignore[attr-defined]
        return [first, node]

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr in ("np_utils", "core", "convolutional") and _ends(node.value) in ("utils", "layers"):
            return node.value
        if node.attr in OPTIMIZER_NAMES and _ends(node.value) in ("optimizers", "train"):
            node.attr = OPTIMIZER_NAMES[node.attr]
            if _ends(node.value) == "train":  # tf.train.AdamOptimizer and others belong to version 1
                node.value = ast.parse("__import__('keras').optimizers", mode="eval").body
        if node.attr == "clock" and _ends(node.value) == "time":
            node.attr = "time"
        if node.attr in ("input_shape", "output_shape") and isinstance(node.ctx, ast.Load):
            return ast.parse(
                f"__import__('stand_ins').shape({ast.unparse(node.value)}, {node.attr!r})", mode="eval"
            ).body
        if node.attr in ("predict_classes", "predict_proba"):
            node.attr = "predict"
        if node.attr in ("fit_generator", "evaluate_generator", "predict_generator"):
            node.attr = node.attr.partition("_")[0]
        if node.attr == "load_dataset" and _ends(node.value) in ("sns", "seaborn"):
            return ast.parse("__import__('stand_ins').load_dataset", mode="eval").body
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("log_cosh") if node.value == "logcosh" else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        old = _ends(node.func)
        if (
            ast.unparse(node) == "time()" and self.time_is_a_module
        ):  # never reached in the set: its callback ends the run
            return ast.parse("time.time()", mode="eval").body
        self.generic_visit(node)
        name = OPTIMIZER_NAMES.get(_ends(node.func), _ends(node.func))
        if old == "Convolution2D" and len(node.args) >= 3:  # rows and columns were two arguments
            node.args[1:3] = [ast.Tuple(node.args[1:3], ast.Load())]
        if name in OPTIMIZERS:
            _keywords(node, {"lr": "learning_rate", "epsilon": "epsilon"}, DROPPED["optimizer"])
        elif name in ("fit", "train_on_batch", "compile", "evaluate", "predict"):
            _keywords(node, FIT_KEYWORDS, DROPPED.get(name, set()))
            self._fewer_epochs(node, name)
        elif name in TRAINING:  # the wrappers for scikit-learn
            self._fewer_epochs(node, name)
        elif name[:1].isupper() and name not in ("Model", "Sequential"):
            _keywords(node, LAYER_KEYWORDS | ({"p": "rate"} if "ropout" in name else {}), DROPPED["layer"])
            _kernel(node, name)
            _layer_that_differs(node, name)
        if name in ("save_weights", "load_weights") and node.args and _weights_file(node.args[0]):
            node.args[0] = ast.BinOp(node.args[0], ast.Add(), ast.Constant(".weights.h5"))
        if self.lists and name in ("fit", "evaluate", "predict"):
            to_array = ast.parse("__import__('stand_ins').array", mode="eval").body
            node.args[:2] = [ast.Call(to_array, [one], []) for one in node.args[:2]]
        for keyword in node.keywords:
            if keyword.arg == "weights" and getattr(keyword.value, "value", None) == "imagenet":
                keyword.value = ast.Constant(None)  # weights are a download
        return node

    def _fewer_epochs(self, node: ast.Call, name: str) -> None:
        if self.epochs is None or name not in TRAINING:
            return
        for keyword in node.keywords:
            if keyword.arg in ("steps_per_epoch", "validation_steps"):  # Keras 2 took 12.5 steps for 12
                keyword.value = ast.Call(ast.Name("int", ast.Load()), [keyword.value], [])
            if keyword.arg in ("epochs", "nb_epoch"):
                keyword.value = self._at_most(keyword.value)
        if name == "fit" and len(node.args) > 3:  # fit(x, y, batch_size, epochs)
            node.args[3] = self._at_most(node.args[3])

    def _at_most(self, asked: ast.expr) -> ast.expr:
        return ast.Call(ast.Name("min", ast.Load()), [asked, ast.Constant(self.epochs)], [])


def today(module: str) -> str:
    parts = module.replace("keras.api._v2.keras", "keras").split(".")
    root = parts.index("keras") if "keras" in parts and parts[0] in ("keras", "tensorflow") else None
    if root is not None and parts[root + 1 : root + 2] and parts[root + 1] in FLAT:
        return ".".join(parts[: root + 2])  # what was below these is internal, and moved with every version
    for layers in LAYER_MODULES:
        for root in ("keras.layers.", "tensorflow.keras.layers."):
            if module == root + layers:
                return root[:-1]
    for old, new in sorted(MODULES, key=lambda pair: -len(pair[0])):
        if module == old or module.startswith(old + "."):
            return today(new + module[len(old) :])
    return module


def _imported(module: str, alias: ast.alias) -> ast.stmt:
    name, called = alias.name, alias.asname or alias.name
    known = IMPORTED_NAMES.get(name)
    if module == "keras.models" and name in ("Input", "InputLayer"):
        known = ("keras.layers", name)
    if known is None and module.endswith("optimizers") and name in OPTIMIZER_NAMES:
        known = (module, OPTIMIZER_NAMES[name])
    if known is not None and not module.startswith("sklearn"):
        module, name = known
    return ast.ImportFrom(module, [ast.alias(name, None if name == called else called)], 0)


def _ends(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _layer_that_differs(node: ast.Call, name: str) -> None:
    """An embedding still calls it `output_dim`; a checkpoint's name must end as Keras 3 wants it."""
    for one in node.keywords:
        if name == "Embedding" and one.arg == "units":
            one.arg = "output_dim"
    if name == "ModelCheckpoint" and node.args:
        only_weights = any(one.arg == "save_weights_only" for one in node.keywords)
        ending = ast.Constant(".weights.h5" if only_weights else ".keras")
        node.args[0] = ast.BinOp(node.args[0], ast.Add(), ending)


def _weights_file(path: ast.expr) -> bool:
    """Keras 3 insists on the ending `.weights.h5`."""
    return isinstance(path, ast.Constant) and not str(path.value).endswith(".weights.h5")


def _keywords(node: ast.Call, renamed: dict[str, str], dropped: set[str]) -> None:
    node.keywords = [one for one in node.keywords if one.arg not in dropped]
    for one in node.keywords:
        one.arg = renamed.get(one.arg, one.arg) if one.arg else one.arg


def _kernel(node: ast.Call, name: str) -> None:
    """nb_row and nb_col of Keras 1 are the kernel's two sizes."""
    sizes = {one.arg: copy.deepcopy(one.value) for one in node.keywords if one.arg in ("nb_row", "nb_col")}
    if len(sizes) == 2 and "Conv" in name:
        node.keywords = [one for one in node.keywords if one.arg not in sizes]
        pair = ast.Tuple([sizes["nb_row"], sizes["nb_col"]], ast.Load())
        node.keywords.append(ast.keyword("kernel_size", pair))
