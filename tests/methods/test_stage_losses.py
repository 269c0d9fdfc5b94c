"""No stage of a deep baseline ends above the loss of chance, at the size of each table.

Widths, classes and options are those of params.yaml; batches, steps and pairs are few: what these
do not bring below chance has inputs of the wrong scale. Images are sparse and positive, texts are
counts of words.
"""

from functools import cache

import numpy as np
import pytest
import torch

from crossmodal.config import plugins
from crossmodal.methods._staged.autoencoders import DenoisingStacks
from crossmodal.methods._staged.classifiers import Classifiers
from crossmodal.methods._staged.correspondence import CorrespondenceAutoencoder
from crossmodal.methods.acmr import AdversarialProjections
from crossmodal.methods.ccl import TwoTasks
from crossmodal.methods.cmdn import BimodalStack, Representations
from crossmodal.methods.dcca import CorrelatedNetworks
from tests.project_params import PARAMS

pytestmark = [pytest.mark.usefixtures("cpu"), pytest.mark.long]

# experiments -> columns of images and texts, classes
SIZES = {
    "pascal": (4096, 1000, 20),
    "nuswide_10k": (4096, 1000, 10),
    "wikipedia_fc7": (4096, 3000, 10),
    "wikipedia_462": (128, 10, 10),
    "flickr8k_all": (1280, 1000, 20),
}
METHODS = ["corr_ae", "dcca", "cmdn", "acmr", "ccl"]
CASES = [(t, m) for t in ("pascal", "wikipedia_462", "flickr8k_all") for m in METHODS]
# the others have the networks of Pascal Sentences
CASES += [("nuswide_10k", "acmr"), ("wikipedia_fc7", "acmr")]
PAIRS = 200


@cache
def rows(image, text, classes):
    """Views and labels of items around the prototypes of classes."""
    rng = np.random.default_rng(0)
    kinds = np.arange(PAIRS) % classes
    codes = rng.standard_normal((classes, 32))[kinds] + rng.standard_normal((PAIRS, 32))
    images = np.maximum(codes @ rng.standard_normal((32, image)) - 4, 0)
    rates = np.exp(codes @ rng.standard_normal((32, text)) / 6)
    texts = rng.poisson(30 * rates / rates.sum(axis=1, keepdims=True))
    return {"image": images, "text": texts.astype(float)}, np.eye(classes)[kinds]


def chance(stage, x, labels):
    """Loss of codes that say nothing: means reconstruct, frequencies classify."""
    variance = {m: v.var(0, correction=0).sum().item() for m, v in x.items()}
    frequencies = labels.mean(0)
    entropy = -(frequencies * frequencies.log()).sum().item()
    if isinstance(stage, DenoisingStacks):
        return sum(variance.values()) + sum(map(hidden_codes, stage.stacks.values()))
    if isinstance(stage, Representations):
        stacks = [*stage.intra.values(), *stage.inter.values()]
        fused = sum(a.decode.out_features for a in stage.fusion.values())
        return 2 * sum(variance.values()) + sum(map(hidden_codes, stacks)) + 2 + fused
    if isinstance(stage, CorrespondenceAutoencoder):
        return (1 - stage.correlation_weight) * sum(variance.values())
    if isinstance(stage, Classifiers):
        return 2 * entropy
    if isinstance(stage, TwoTasks):  # all codes at the best one distance
        same = (labels @ labels.T).mean().item()
        contrast = stage.margin**2 * same * (1 - same) * len(labels) / 2
        return 2 * entropy + stage.contrastive_weight * contrast
    if isinstance(stage, BimodalStack):  # z-scores, then codes, which are in [0, 1]
        return len(stage.levels) * entropy + 2
    if isinstance(stage, AdversarialProjections):  # all projections equal
        o = stage.options
        invariance = 2 * o.negative_weight * o.margin
        return o.invariance_weight * invariance + 2 * o.discrimination_weight * entropy + np.log(2)
    assert isinstance(stage, CorrelatedNetworks)
    first, second = x  # the pairs are wrong
    return stage.loss({first: x[first], second: x[second].roll(1, 0)}, labels).item()


def hidden_codes(stack):
    """Variance of the z-scored codes that further autoencoders of a stack reconstruct."""
    return sum(layer.decode.out_features for layer in stack.layers[1:])


def short(options, columns):
    """The options with a few passes over the pairs, one in the first stage of wide networks."""
    if "epochs" in options:
        return options | {"batch": min(options["batch"] // 2, 100), "epochs": 6}
    count = 50 if "classifier_steps" in options else 100  # classifiers need fewer
    steps = {name: count for name in options if name.endswith("steps")}
    return options | steps | {"batch": 25, "pretraining_steps": 8 if columns > 1000 else 100}


@pytest.mark.parametrize(("table", "name"), CASES)
def test_each_stage_ends_below_the_loss_of_chance(table, name, make_split, placed):
    job = PARAMS.fit(f"{table}_{name}")
    options = short(job.options, SIZES[table][0])
    split = make_split(*rows(*SIZES[table]))
    method = placed(plugins.make("methods", job.plugin, options, "options"), split)
    optimizer, rng = method.optimizer(), np.random.default_rng(0)
    for group in optimizer.param_groups:
        group["lr"] = group.get("factor", 1) * method.learning_rate_at(0, 0)
    ends = np.cumsum(method.stage_epochs) - 1
    for epoch in range(method.epochs):
        method.network.train()
        for batch in method.batches(epoch, rng):
            method.network.train()
            optimizer.zero_grad()
            method.loss(batch).backward()
            optimizer.step()
        if epoch in ends:
            stage = method.network.stages[method.stage].eval()
            x = {m: stage.scalers[m](v) for m, v in method.inputs.items()}
            labels = method.labels
            with torch.no_grad():
                expected = chance(stage, x, labels)
                assert stage.loss(x, labels).item() < expected - 0.05 * abs(expected)
