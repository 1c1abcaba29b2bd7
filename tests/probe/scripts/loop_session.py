"""Training in sessions: 12 steps in an ordinary one, 8 in a monitored one; a run that only evaluates is none."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
x = np.random.RandomState(0).rand(16, 100).astype("float32")
weights = tf.get_variable("weights", (100, 1), initializer=tf.zeros_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(tf.constant(x), weights) - 1.0), name="squared")
step = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.005).minimize(loss, global_step=step)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(12):
        session.run([train, loss])
    print(session.run(loss))

with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(8)]) as session:
    while not session.should_stop():
        _, value, trained = session.run([train, loss, weights])
np.save(sys.argv[1], trained)
