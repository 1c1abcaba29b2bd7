"""Names of Keras 1 and 2 and what they are called today."""

from __future__ import annotations

LAYER_MODULES = (
    "core", "convolutional", "recurrent", "normalization", "embeddings", "advanced_activations", "pooling", "noise",
    "wrappers", "merge", "local", "convolutional_recurrent",
)  # fmt: skip
FLAT = (
    "initializers",
    "optimizers",
    "losses",
    "metrics",
    "constraints",
    "regularizers",
    "callbacks",
    "activations",
)
OPTIMIZERS = ("SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl")
OPTIMIZER_NAMES = {name.lower(): name for name in OPTIMIZERS} | {"GradientDescentOptimizer": "SGD"}
LAYER_KEYWORDS = {
    "init": "kernel_initializer", "output_dim": "units", "W_regularizer": "kernel_regularizer", "bias": "use_bias",
    "b_regularizer": "bias_regularizer", "W_constraint": "kernel_constraint", "border_mode": "padding",
    "subsample": "strides", "nb_filter": "filters", "filter_length": "kernel_size", "pool_length": "pool_size",
    "inner_activation": "recurrent_activation", "dropout_W": "dropout", "dropout_U": "recurrent_dropout",
    "batch_input_shape": "batch_shape", "stride": "strides", "inner_init": "recurrent_initializer",
}  # fmt: skip
TRAINING = ("fit", "KerasClassifier", "KerasRegressor")
FIT_KEYWORDS = {"nb_epoch": "epochs", "nb_val_samples": "validation_steps", "generator": "x"}
# Keywords that Keras 3 no longer has: `decay` shrinks the rate by at most a few percent in these programs.
DROPPED = {
    "optimizer": {"decay", "l2"}, "fit": {"show_accuracy", "workers", "max_queue_size", "use_multiprocessing"},
    "compile": {"class_mode"}, "layer": {"input_length", "weights_path"},
    "evaluate": {"show_accuracy", "workers", "max_queue_size", "use_multiprocessing"},
    "predict": {"workers", "max_queue_size", "use_multiprocessing"},
}  # fmt: skip
MODULES = (
    ("tensorflow.python.keras", "tensorflow.keras"), ("tensorflow.contrib.keras", "tensorflow.keras"),
    ("tensorflow.contrib.keras.python.keras", "tensorflow.keras"), ("keras.utils.np_utils", "keras.utils"),
    ("keras.utils.generic_utils", "keras.utils"), ("tensorflow.keras.utils.np_utils", "tensorflow.keras.utils"),
    ("keras.utils.vis_utils", "keras.utils"),
    ("keras.wrappers.scikit_learn", "old_keras_wrappers"),
    ("tensorflow.keras.wrappers.scikit_learn", "old_keras_wrappers"),
    ("keras.engine.topology", "keras.layers"), ("keras.engine", "keras.layers"),
    ("keras.layers.preprocessing", "keras.layers"), ("keras.objectives", "keras.losses"),
    ("keras.backend", "tensorflow.keras.backend"),
    ("keras.preprocessing", "tensorflow.keras.preprocessing"), ("sklearn.cross_validation", "sklearn.model_selection"),
    ("sklearn.externals", "old_keras_wrappers"), ("sklearn.datasets.samples_generator", "sklearn.datasets"),
)  # fmt: skip
IMPORTED_NAMES = {
    "maxnorm": ("keras.constraints", "MaxNorm"), "max_norm": ("keras.constraints", "MaxNorm"),
    "np_utils": ("keras", "utils"), "Deconvolution2D": ("keras.layers", "Conv2DTranspose"),
    "AtrousConvolution2D": ("keras.layers", "Conv2D"), "MaxPool1D": ("keras.layers", "MaxPooling1D"),
    "CuDNNLSTM": ("keras.layers", "LSTM"), "CuDNNGRU": ("keras.layers", "GRU"),
    "GradientDescentOptimizer": ("keras.optimizers", "SGD"), "plot_model": ("keras.utils", "plot_model"),
    "backend": ("tensorflow.keras", "backend"), "preprocessing": ("tensorflow.keras", "preprocessing"),
}  # fmt: skip
