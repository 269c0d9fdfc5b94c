import numpy as np

from crossmodal.nn.prefixes import prefix_steps


def test_each_beginning_that_goes_on_comes_once(rng):
    lengths = rng.integers(1, 7, 50)
    ids = rng.integers(0, 3, (50, 6))
    rows = [tuple(row[:length]) for row, length in zip(ids.tolist(), lengths, strict=True)]
    before, found = [()], []
    for step in prefix_steps(ids, lengths):
        pairs = zip(step.parents, step.steps.tolist(), strict=True)
        beginnings = [(*before[parent], last) for parent, last in pairs]
        for row, place, following in zip(step.rows, step.places, step.following, strict=True):
            found.append((row, beginnings[place], following))
        assert len(set(beginnings)) == len(beginnings)
        before = beginnings
    wanted = [(n, row[:end], row[end]) for n, row in enumerate(rows) for end in range(1, len(row))]
    assert sorted(found) == sorted(wanted)


def test_sequences_of_one_step_have_no_beginnings():
    assert not list(prefix_steps(np.zeros((3, 4), int), np.ones(3, int)))
