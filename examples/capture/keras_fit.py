"""Keras: one callback, with whichever back end Keras uses."""

import keras
import numpy
from memstrata.integrations.keras import MemstrataCallback

model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
callback = MemstrataCallback("keras.html")
model.fit(numpy.zeros((32, 16)), numpy.zeros((32, 1)), batch_size=8, verbose=0, callbacks=[callback])
for file in callback.capture.files:
    print(file.name)
