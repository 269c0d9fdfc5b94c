import numpy as np
import torch

from crossmodal.methods._regions import Regions


def test_regions_are_the_positions_of_maps(rng):
    maps = rng.standard_normal((4, 5, 3, 2)).astype(np.float16)
    found = Regions(5, "raw")(torch.from_numpy(maps))
    assert found.shape == (4, 6, 5)
    np.testing.assert_array_equal(found[2, 4], maps[2, :, 2, 0].astype(np.float32))


def test_scores_are_of_each_channel_over_all_positions(rng):
    maps = (rng.standard_normal((9, 5, 3, 2)) * 4 + 2).astype(np.float16)
    maps[:, 3] = 1.5  # a channel that says nothing
    regions, rows = Regions(5, "zscore"), torch.from_numpy(maps)
    regions.fit([rows[:4], rows[4:]])
    values = maps.astype(float)
    mean, deviation = (f(values, axis=(0, 2, 3), keepdims=True) for f in (np.mean, np.std))
    expected = (values - mean) / np.where(deviation > 0, deviation, 1)
    found = regions(rows).transpose(1, 2).reshape(maps.shape)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_statistics_are_of_the_training_split(rng):
    """They are stored with the weights, and new images do not change them."""
    maps = torch.from_numpy(rng.standard_normal((9, 5, 3, 2)))
    regions, other = Regions(5, "zscore"), Regions(5, "zscore")
    regions.fit([maps])
    other.load_state_dict(regions.state_dict())
    torch.testing.assert_close(other(maps[:2] + 1), regions(maps + 1)[:2])
    assert abs(other(maps[:2] + 1).mean()) > 0.5
