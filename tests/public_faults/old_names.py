"""A program written for Keras 1 and 2, in the names of Keras 3. Only names change, never what the program computes."""

from __future__ import annotations

import ast
import copy

_LAYER_MODULES = (
    "core", "convolutional", "recurrent", "normalization", "embeddings", "advanced_activations", "pooling", "noise",
    "wrappers", "merge", "local", "convolutional_recurrent",
)  # fmt: skip
_FLAT = (
    "initializers",
    "optimizers",
    "losses",
    "metrics",
    "constraints",
    "regularizers",
    "callbacks",
    "activations",
)
_OPTIMIZERS = ("SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl")
_OPTIMIZER_NAMES = {name.lower(): name for name in _OPTIMIZERS} | {"GradientDescentOptimizer": "SGD"}
_LAYER_KEYWORDS = {
    "init": "kernel_initializer", "output_dim": "units", "W_regularizer": "kernel_regularizer", "bias": "use_bias",
    "b_regularizer": "bias_regularizer", "W_constraint": "kernel_constraint", "border_mode": "padding",
    "subsample": "strides", "nb_filter": "filters", "filter_length": "kernel_size", "pool_length": "pool_size",
    "inner_activation": "recurrent_activation", "dropout_W": "dropout", "dropout_U": "recurrent_dropout",
    "batch_input_shape": "batch_shape", "stride": "strides", "inner_init": "recurrent_initializer",
}  # fmt: skip
_TRAINING = ("fit", "KerasClassifier", "KerasRegressor")
_FIT_KEYWORDS = {"nb_epoch": "epochs", "nb_val_samples": "validation_steps"}
# Keywords that Keras 3 no longer has: `decay` shrinks the rate by at most a few percent in these programs.
_DROPPED = {
    "optimizer": {"decay", "l2"}, "fit": {"show_accuracy", "workers", "max_queue_size", "use_multiprocessing"},
    "compile": {"class_mode"}, "layer": {"input_length", "weights_path"}, "evaluate": {"show_accuracy"},
}  # fmt: skip
_MODULES = (
    ("tensorflow.python.keras", "tensorflow.keras"), ("tensorflow.contrib.keras", "tensorflow.keras"),
    ("tensorflow.contrib.keras.python.keras", "tensorflow.keras"), ("keras.utils.np_utils", "keras.utils"),
    ("keras.utils.generic_utils", "keras.utils"), ("keras.utils.vis_utils", "keras.utils"),
    ("keras.wrappers.scikit_learn", "old_keras_wrappers"),
    ("tensorflow.keras.wrappers.scikit_learn", "old_keras_wrappers"),
    ("keras.engine.topology", "keras.layers"), ("keras.engine", "keras.layers"),
    ("keras.layers.preprocessing", "keras.layers"), ("keras.objectives", "keras.losses"),
    ("keras.preprocessing", "tensorflow.keras.preprocessing"), ("sklearn.cross_validation", "sklearn.model_selection"),
    ("sklearn.externals", "old_keras_wrappers"), ("sklearn.datasets.samples_generator", "sklearn.datasets"),
)  # fmt: skip
_IMPORTED_NAMES = {
    "maxnorm": ("keras.constraints", "MaxNorm"), "max_norm": ("keras.constraints", "MaxNorm"),
    "np_utils": ("keras", "utils"), "Deconvolution2D": ("keras.layers", "Conv2DTranspose"),
    "AtrousConvolution2D": ("keras.layers", "Conv2D"), "MaxPool1D": ("keras.layers", "MaxPooling1D"),
    "CuDNNLSTM": ("keras.layers", "LSTM"), "CuDNNGRU": ("keras.layers", "GRU"),
    "GradientDescentOptimizer": ("keras.optimizers", "SGD"), "plot_model": ("keras.utils", "plot_model"),
    "backend": ("tensorflow.keras", "backend"), "preprocessing": ("tensorflow.keras", "preprocessing"),
}  # fmt: skip


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
        from lib2to3.refactor import RefactoringTool, get_fixers_from_package

        fixers = get_fixers_from_package("lib2to3.fixes")
        return ast.parse(str(RefactoringTool(fixers).refactor_string(source, "program")))


def _without_tools(tree: ast.Module) -> None:
    """Without the callback and the last `sys.exit(1)` that a set's authors added for a diagnosis tool of their own."""
    if tree.body and ast.unparse(tree.body[-1]).startswith(("sys.exit(", "exit(", "quit(")):
        tree.body.pop()
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
        if node.attr in _OPTIMIZER_NAMES and _ends(node.value) in ("optimizers", "train"):
            node.attr = _OPTIMIZER_NAMES[node.attr]
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
        name = _OPTIMIZER_NAMES.get(_ends(node.func), _ends(node.func))
        if old == "Convolution2D" and len(node.args) >= 3:  # rows and columns were two arguments
            node.args[1:3] = [ast.Tuple(node.args[1:3], ast.Load())]
        if name in _OPTIMIZERS:
            _keywords(node, {"lr": "learning_rate", "epsilon": "epsilon"}, _DROPPED["optimizer"])
        elif name in ("fit", "train_on_batch", "compile", "evaluate"):
            _keywords(node, _FIT_KEYWORDS, _DROPPED.get(name, set()))
            self._fewer_epochs(node, name)
        elif name in _TRAINING:  # the wrappers for scikit-learn
            self._fewer_epochs(node, name)
        elif name[:1].isupper() and name not in ("Model", "Sequential"):
            _keywords(node, _LAYER_KEYWORDS | ({"p": "rate"} if "ropout" in name else {}), _DROPPED["layer"])
            _kernel(node, name)
        if self.lists and name in ("fit", "evaluate", "predict"):
            to_array = ast.parse("__import__('stand_ins').array", mode="eval").body
            node.args[:2] = [ast.Call(to_array, [one], []) for one in node.args[:2]]
        for keyword in node.keywords:
            if keyword.arg == "weights" and getattr(keyword.value, "value", None) == "imagenet":
                keyword.value = ast.Constant(None)  # weights are a download
        return node

    def _fewer_epochs(self, node: ast.Call, name: str) -> None:
        if self.epochs is None or name not in _TRAINING:
            return
        for keyword in node.keywords:
            if keyword.arg in ("epochs", "nb_epoch"):
                keyword.value = self._at_most(keyword.value)
        if name == "fit" and len(node.args) > 3:  # fit(x, y, batch_size, epochs)
            node.args[3] = self._at_most(node.args[3])

    def _at_most(self, asked: ast.expr) -> ast.expr:
        return ast.Call(ast.Name("min", ast.Load()), [asked, ast.Constant(self.epochs)], [])


def today(module: str) -> str:
    parts = module.replace("keras.api._v2.keras", "keras").split(".")
    root = parts.index("keras") if "keras" in parts and parts[0] in ("keras", "tensorflow") else None
    if root is not None and parts[root + 1 : root + 2] and parts[root + 1] in _FLAT:
        return ".".join(parts[: root + 2])  # what was below these is internal, and moved with every version
    for layers in _LAYER_MODULES:
        for root in ("keras.layers.", "tensorflow.keras.layers."):
            if module == root + layers:
                return root[:-1]
    for old, new in sorted(_MODULES, key=lambda pair: -len(pair[0])):
        if module == old or module.startswith(old + "."):
            return today(new + module[len(old) :]) if new not in module else module
    return module


def _imported(module: str, alias: ast.alias) -> ast.stmt:
    name, called = alias.name, alias.asname or alias.name
    known = _IMPORTED_NAMES.get(name)
    if module == "keras.models" and name in ("Input", "InputLayer"):
        known = ("keras.layers", name)
    if known is None and module.endswith("optimizers") and name in _OPTIMIZER_NAMES:
        known = (module, _OPTIMIZER_NAMES[name])
    if known is not None and not module.startswith("sklearn"):
        module, name = known
    return ast.ImportFrom(module, [ast.alias(name, None if name == called else called)], 0)


def _ends(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


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
