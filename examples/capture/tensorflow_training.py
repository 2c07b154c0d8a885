"""The same line with TensorFlow: its profiler with memory events."""

import memstrata
import tensorflow as tf

weights = tf.Variable(tf.ones((256, 256)))


@tf.function
def train_step(inputs: tf.Tensor) -> None:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.tanh(inputs @ weights))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))


with memstrata.profile("tensorflow_training.html") as capture:
    for _ in range(3):
        with memstrata.annotate("train_step"):
            train_step(tf.ones((64, 256)))
        capture.step()

for file in capture.files:
    print(file.name)
