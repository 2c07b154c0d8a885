"""The same line with JAX: its profiler with memory events, and the buffers that are live at the end."""

import jax
import jax.numpy as jnp
import memstrata


@jax.jit
def train_step(weights: jax.Array, inputs: jax.Array) -> jax.Array:
    def loss(values: jax.Array) -> jax.Array:
        return jnp.tanh(inputs @ values).sum()

    return weights - 0.01 * jax.grad(loss)(weights)


with memstrata.profile("jax_training.html") as capture:
    weights = jnp.ones((256, 256))
    for _ in range(3):
        with memstrata.annotate("train_step"):
            weights = train_step(weights, jnp.ones((64, 256))).block_until_ready()
        capture.step()

for file in capture.files:
    print(file.name)
