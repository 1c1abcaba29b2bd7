# /// zoo
# cause = "healthy"
# needs = "estimator"
# ///
"""train_and_evaluate with a hook, twice: the second call continues from the checkpoint of the first."""
import hashlib
import random

import numpy as np
import tensorflow as tf

random.seed(10)
tf.random.set_seed(10)
rng = np.random.RandomState(10)
x = rng.rand(200, 4).astype("float32")
y = (x.sum(axis=1) > 2).astype("int32")


def input_fn():
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).batch(20).repeat()


class Counter(tf.estimator.SessionRunHook):
    steps = 0

    def after_run(self, run_context, run_values):
        Counter.steps += 1


config = tf.estimator.RunConfig(model_dir="model", tf_random_seed=10, save_checkpoints_steps=50)
columns = [tf.feature_column.numeric_column("x", shape=(4,))]
classifier = tf.estimator.DNNClassifier([8], columns, optimizer="Adagrad", config=config)
for goal in (100, 200):
    train = tf.estimator.TrainSpec(input_fn, max_steps=goal, hooks=[Counter()])
    print(tf.estimator.train_and_evaluate(classifier, train, tf.estimator.EvalSpec(input_fn, steps=5)))
print("hooks ran", Counter.steps)
values = [classifier.get_variable_value(name) for name in sorted(classifier.get_variable_names())]
print("weights", hashlib.sha256(b"".join(np.asarray(v).tobytes() for v in values)).hexdigest())
