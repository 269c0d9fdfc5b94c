import numpy as np
import pytest
import torch

from crossmodal.learning.method import Run
from crossmodal.methods.cmdn import CMDN, BimodalStack

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {"intra": [16, 12], "inter": {"image": [16, 12], "text": [12]}, "joint": 16}
OPTIONS |= {"fused": 16, "noise": 0.2, "classifier": [16, 16], "dropout": 0.0}
OPTIONS |= {"bimodal": [12, 8], "scaling": "zscore", "score_norm": "none"}
OPTIONS |= {"learning_rate": 0.01, "weight_decay": 0.0, "batch": 40}
OPTIONS |= {"pretraining_steps": 60, "classifier_steps": 45, "steps": 90}


@pytest.fixture
def representations(classes, placed):
    """The first stage, untrained, and its scaled inputs."""
    method = placed(CMDN(**OPTIONS), classes(0))
    stage = method.network.stages[0]
    return stage, {m: stage.scalers[m](rows) for m, rows in method.inputs.items()}, method.labels


def test_the_code_of_an_image_is_made_without_text_and_inversely(representations):
    stage, x, _ = representations
    for modality, other in (("image", "text"), ("text", "image")):
        before = stage.encode(modality, x[modality])
        with torch.no_grad():
            stage.inter[other].layers[0].encode[0].weight += 1
            stage.joint.encoders[other].weight += 1
        assert torch.equal(stage.encode(modality, x[modality]), before)


def test_code_fuses_intra_and_inter_media_representations(representations):
    stage, x, _ = representations
    both = torch.cat([stage.intra["image"](x["image"]), torch.zeros(120, 16)], dim=1)
    inter = stage.inter["image"](x["image"])
    both[:, 12:] = torch.sigmoid(inter @ stage.joint.encoders["image"].weight.T)  # no bias yet
    expected = stage.fusion["image"].encode((both - both.mean(0)) / both.std(0, correction=0))
    torch.testing.assert_close(stage.encode("image", x["image"]), expected, atol=1e-3, rtol=1e-3)


def test_every_part_of_the_first_stage_learns_from_its_own_error(representations):
    stage, x, labels = representations
    stage.loss(x, labels).backward()
    assert all(p.grad.abs().max() > 0 for p in stage.parameters() if p.ndim > 1)
    stage.zero_grad()
    stage.noise = 0.0
    for stack in stage.intra.values():
        stack.noise = 0.0
    alone, _ = stage.intra["image"].loss(x["image"])
    alone.backward()
    expected = stage.intra["image"].layers[0].encode[0].weight.grad.clone()
    stage.zero_grad()
    stage.loss(x, labels).backward()
    torch.testing.assert_close(stage.intra["image"].layers[0].encode[0].weight.grad, expected)


def test_each_bimodal_level_reads_one_modality_at_a_time():
    torch.manual_seed(0)
    stack = BimodalStack({"image": 5, "text": 5}, [4, 3], classes=2)
    x = {m: torch.randn(6, 5) for m in ("image", "text")}
    labels = torch.eye(2)[[0, 1, 0, 1, 0, 1]]
    first, second = stack.levels
    below = {m: first.code({m: rows}) for m, rows in x.items()}
    expected = first.loss(x, labels) + second.loss(below, labels)
    torch.testing.assert_close(stack.loss(x, labels), expected)
    torch.testing.assert_close(
        stack.encode("text", x["text"]), second.code({"text": below["text"]})
    )


def test_seeds_reproduce_and_differ(classes):
    def codes(seed):
        method = CMDN(**OPTIONS | {"pretraining_steps": 1, "classifier_steps": 1, "steps": 1})
        method.fit(classes(0), classes(1), Run(seed))
        return method.embed("text", classes(1).views["text"])

    np.testing.assert_array_equal(codes(1), codes(1))
    assert not np.array_equal(codes(1), codes(2))


@pytest.mark.parametrize("score_norm", ["none", "train_z"])
def test_unseen_items_are_found(assert_learns, score_norm):
    assert_learns(lambda: CMDN(**OPTIONS | {"score_norm": score_norm}), 0.6)  # chance is 0.25
