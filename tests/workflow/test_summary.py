from crossmodal.workflow.summary import summary


def test_rules_are_counted_in_the_order_they_ran():
    said = summary(["train", "embed", "train"], 8, 75.4, ["results/tables/all.md"])
    assert said == (
        "jobs run in 0:01:15: 2 train, 1 embed; done already: 5\nlook at results/tables/all.md"
    )


def test_what_is_not_to_be_looked_at_is_not_named():
    assert summary(["train"], 1, 1, ["models/a/seed0/model.safetensors"]) == (
        "jobs run in 0:00:01: 1 train"
    )


def test_at_most_five_places_are_named():
    targets = [f"results/tables/{n}.md" for n in range(9)]
    said = summary([], 4, 0.2, targets)
    assert said.startswith("jobs run in 0:00:00: none; done already: 4")
    assert said.endswith("4.md ...")
