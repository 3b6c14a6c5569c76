"""A network of 2-16-16-1 units and its gradient, in plain Python, and the data it learns.

Weights are one flat array, so that a gradient travels as it is: for each layer the matrix by
rows, then the biases. Work is done batch-wise by columns: one `sum(map(mul, ...))` per pair of
units is the fastest inner loop plain Python has.
"""
import math
import random
from array import array
from operator import mul

SIZES = (2, 16, 16, 1)


def spiral(points, seed):
    """Two arms of a noisy spiral: [(x, y, label)], the same for the same seed, in mixed order."""
    rng = random.Random(f"data {seed}")
    samples = []
    for i in range(points):
        label = i % 2
        radius = 0.15 + 0.85 * rng.random()
        angle = 6.0 * radius + math.pi * label + rng.gauss(0, 0.25)
        samples.append((2 * radius * math.cos(angle), 2 * radius * math.sin(angle), float(label)))
    rng.shuffle(samples)
    return samples


def fresh_weights(rng):
    weights = array("d")
    for inputs, outputs in zip(SIZES, SIZES[1:]):
        spread = 1.4 / math.sqrt(inputs)
        weights.extend(rng.gauss(0, spread) for _ in range(inputs * outputs))
        weights.extend(0.0 for _ in range(outputs))
    return weights


def layers_of(weights):
    """The flat array as [(rows, biases)]."""
    layers, at = [], 0
    for inputs, outputs in zip(SIZES, SIZES[1:]):
        rows = [weights[at + j * inputs:at + (j + 1) * inputs] for j in range(outputs)]
        at += inputs * outputs
        layers.append((rows, weights[at:at + outputs]))
        at += outputs
    return layers


def forward(layers, columns):
    """Values of every layer, each a list of columns (one per unit) over the batch."""
    values = [columns]
    for depth, (rows, biases) in enumerate(layers):
        samples = list(zip(*values[-1]))
        is_last = depth + 1 == len(layers)
        out = []
        for row, bias in zip(rows, biases):
            sums = [bias + sum(map(mul, row, sample)) for sample in samples]
            out.append(sums if is_last else list(map(math.tanh, sums)))
        values.append(out)
    return values


def logistic_loss(scores, labels):
    """Mean loss, and its slope with respect to each score."""
    loss, slopes = 0.0, []
    for score, label in zip(scores, labels):
        tail = math.exp(-abs(score))
        chance = 1 / (1 + tail) if score >= 0 else tail / (1 + tail)
        loss += max(score, 0) - score * label + math.log1p(tail)
        slopes.append((chance - label) / len(scores))
    return loss / len(scores), slopes


def loss_and_gradient(weights, batch):
    """Mean loss over the batch and its gradient, laid out as the weights are."""
    layers = layers_of(weights)
    xs, ys, labels = zip(*batch)
    values = forward(layers, [xs, ys])
    loss, slopes = logistic_loss(values[-1][0], labels)
    parts, deltas = [], [slopes]
    for depth in range(len(layers) - 1, -1, -1):
        below = values[depth]
        matrix = [sum(map(mul, delta, column)) for delta in deltas for column in below]
        parts.append(matrix + [sum(delta) for delta in deltas])
        if depth > 0:
            deltas = deltas_below(layers[depth][0], deltas, below)
    return loss, array("d", [slope for part in reversed(parts) for slope in part])


def deltas_below(rows, deltas, below):
    """Slopes with respect to the sums of the layer below, through its tanh."""
    samples = list(zip(*deltas))
    result = []
    for unit, column in zip(zip(*rows), below):
        back = (sum(map(mul, unit, sample)) for sample in samples)
        result.append([slope * (1 - value * value) for slope, value in zip(back, column)])
    return result
