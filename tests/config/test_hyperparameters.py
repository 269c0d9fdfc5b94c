"""The settings of the experiments at the papers' sizes against those that the papers state."""

import csv
import re
from fnmatch import fnmatch
from importlib.resources import files

import pytest

from tests.project_params import PARAMS

TEXT = (files("crossmodal") / "published" / "hyperparameters.csv").read_text(encoding="utf-8")
ROWS = [row for row in csv.DictReader(TEXT.splitlines()) if row["value"] != "not stated"]
WORDS = {"yes": True, "no": False, "cos": "cosine"}

# parameter of a paper -> option of its method
SAM = {
    "learning rate": "learning_rate",
    "learning rate decay": "decay",
    "Nesterov momentum": "momentum",
    "batch size": "batch",
    "epochs": "epochs",
    "embedding dim D": "dims",
    "hidden dim": "hidden",
    "dropout": "dropout",
    "margin m": "margin",
    "lambda": "feature_share",
    "f_a": "activation",
    "k": "slope",
    "runs averaged": "seeds",
}
CMOLRS = {
    "alpha": "feature_weight",
    "beta": "margin_scale",
    "rank k": "rank",
    "step size eta": "step_size",
    "triplets per query J": "triplets_per_query",
    "triplets per update": "triplets_per_query",
}
VASE = {
    "learning rate, first stage": "learning_rate",
    "learning rate, second stage": "finetuning_rate",
    "learning rate decay every": "decay_every",
    "batch size": "batch",
    "epochs, first stage": "epochs",
    "epochs, second stage": "finetuning_epochs",
    "margin alpha": "margin",
    "lambda": "cycle_weight",
    "beta": "inverse_temperature",
    "common embedding dim": "dims",
    "word embedding dim": "word_dims",
}
FNE = {
    "loss": "loss",
    "similarity": "similarity",
    "embedding dim": "dims",
    "word embedding dim": "word_dims",
    "learning rate": "learning_rate",
    "learning rate, first training": "learning_rate",
    "learning rate, second training": "finetuning_rate",
    "margin": "margin",
    "absolute value of the embeddings": "absolute",
    "batch size": "batch",
    "gradient clipping threshold": "clip",
    "maximum epochs": "epochs",
    "repetitions": "seeds",
}
OPTIONS = {"SAM": SAM, "CMOLRS": CMOLRS, "VASE": VASE, "FNE": FNE}
# what no option of a method says
ELSEWHERE = {
    "SAM": {
        "fully connected layers per branch": "the architecture",
        "alpha(t)": "the schedule 'adaptive'",
        "text vocabulary size": "the features",
        "lambda grid": "a grid, below",
        "f_a grid": "a grid, below",
        "f_a at the peak": "a result",
        "n_e of the plotted scheduler": "an illustration",
    },
    "CMOLRS": {
        "image feature dim": "the features",
        "text feature dim": "the features",
        "share of triplets whose negative has no label in common with the query": "the sampler",
        "number of triplets": "stated for Table VI alone; the released demos have another number",
        "minimum adaptive margin": "a grid, below",
        "maximum adaptive margin": "a grid, below",
        "fixed margins tried": "a grid, below",
        "ranks tried": "grids, below",
        "step sizes named": "of a figure; our grid is of other datasets",
    },
    "VASE": {
        "learning rate decay factor": "a constant",
        "FC layers per branch": "the architecture",
        "image feature dim": "the architecture",
        "vocabulary size": "the dataset",
        "beta grid": "grids, below",
    },
    "FNE": {
        "captions per image and epoch": "the option is a word",
        "contrastive examples per pair": "the batch",
        "crops averaged": "the features",
        "image feature dim": "the features",
        "embedding dims tried": "the best one is stated",
        "word embedding dims tried": "the best one is stated",
        "success threshold": "the metric",
    },
}
CITED = ("_uvs", "_order", "_order_plus", "_vse")  # systems of other papers
LAUNCHERS = "the released launchers"
DEVIATIONS = {
    ("wikipedia*cmolrs", "rank k"): "the texts have 10 dimensions",
    ("*_moe", "learning rate"): "0.0001 in Table 5 and the released launchers",
    ("flickr*_moe", "maximum epochs"): LAUNCHERS,
    ("flickr30k_*_soe", "maximum epochs"): LAUNCHERS,
    ("coco_*_soe", "maximum epochs"): LAUNCHERS,
    ("flickr*_mh_bl", "maximum epochs"): LAUNCHERS,
    ("flickr*_fc7*_mh", "maximum epochs"): LAUNCHERS,
    ("coco_fne*_mh", "maximum epochs"): LAUNCHERS,
    ("*_sh_bl", "maximum epochs"): "40 of all five captions are 200 of one",
}


def stated(paper, methods, dataset):
    """Parameter -> text of all that a paper says of methods on a dataset."""
    rows = (row for row in ROWS if row["paper"] == paper and row["method"] in methods)
    return {row["parameter"]: row["value"] for row in rows if row["dataset"] in ("", dataset)}


def read(text):
    """The alternatives that a paper states."""
    words = re.split(r" or ", text)
    return {float(word) if word[0].isdigit() else WORDS.get(word, word) for word in words}


def deviating(experiment, found):
    """Parameters that no value of an experiment's options, or of its search, agrees with."""
    spec, job = PARAMS.experiments[experiment], PARAMS.fit(experiment)
    options = OPTIONS[spec.published.paper]
    said = job.options | {"seeds": spec.seeds}
    return {
        parameter
        for parameter, text in found.items()
        if parameter in options
        and read(text).isdisjoint(job.search.get(options[parameter], [said[options[parameter]]]))
    }


def expected(experiment):
    return {p for pattern, p in DEVIATIONS if fnmatch(experiment, pattern)}


def named(paper, plugin, *tables):
    """Experiments of some tables that reproduce a paper with a plug-in."""
    shown = dict.fromkeys(e for table in tables for e in PARAMS.tables[table].experiments)
    sources = {e: PARAMS.experiments[e].published for e in shown}
    return [
        e
        for e, source in sources.items()
        if source and source.paper == paper and PARAMS.fit(e).plugin == plugin
    ]


@pytest.mark.parametrize(
    "experiment",
    named(
        *("SAM", "sam", "sam_pascal", "sam_nuswide_10k", "sam_nuswide_top10"),
        *("sam_wikipedia", "sam_wikipedia_462"),
    ),
)
def test_sam_has_its_settings(experiment):
    methods = ("SAM", "SAM ablation") if experiment.endswith("_ablation") else ("SAM",)
    dataset = PARAMS.experiments[experiment].published.dataset
    assert deviating(experiment, stated("SAM", methods, dataset)) == expected(experiment)


@pytest.mark.parametrize(
    "experiment",
    named(
        "CMOLRS",
        "cmolrs",
        *("voc2007_multi", "mirflickr_multi", "nuswide_multi", "voc2007_intra_modal", "wikipedia"),
    ),
)
def test_cmolrs_has_its_settings(experiment):
    source = PARAMS.experiments[experiment].published
    method = re.sub("-(i2t|t2i)$", "", source.method)
    found = stated("CMOLRS", (method,), source.dataset)
    assert deviating(experiment, found) == expected(experiment)


@pytest.mark.parametrize(
    "experiment",
    [
        experiment
        for experiment in named("VASE", "vase", "vase_table2", "vase_table6")
        if PARAMS.experiments[experiment].published.method not in ("base", "base+aux")
    ],
)
def test_vase_has_its_settings(experiment):
    source = PARAMS.experiments[experiment].published
    found = stated("VASE", ("VASE",), source.dataset)
    reported = stated("VASE", (source.method,), source.dataset)
    for parameter, value in reported.items():  # of this image and speech network, if stated
        name, _, networks = parameter.partition(" of the reported model, ")
        if networks and source.variant.startswith(networks):
            found[name] = value
    assert deviating(experiment, found) == expected(experiment)


@pytest.mark.parametrize(
    "experiment",
    [
        experiment
        for experiment in named(
            "FNE",
            "multimodal_embedding",
            *("fne_table2", "fne_table3", "fne_table4", "flickr8k_table5"),
        )
        if not experiment.endswith(CITED)
    ],
)
def test_fne_has_its_settings(experiment):
    source = PARAMS.experiments[experiment].published
    method = source.method.split("-", 1)[1]
    found = stated("FNE", ("all",), source.dataset) | stated("FNE", (method,), source.dataset)
    if method == "PH":  # one value is printed for both trainings
        found["learning rate, second training"] = found["learning rate"]
    if source.table == "Table 5":
        found |= stated("FNE", ("MOE experiments", source.method), source.dataset)
    assert deviating(experiment, found) == expected(experiment)


@pytest.mark.parametrize(
    ("paper", "method", "parameter", "group", "option"),
    [
        ("SAM", "SAM", "lambda grid", "pascal_schedule", "feature_share"),
        ("SAM", "SAM", "f_a grid", "pascal_schedule", "activation"),
        ("CMOLRS", "fast-CMOLRS", "fixed margins tried", "voc2007_long_margin", "margin_base"),
        ("CMOLRS", "CCA", "ranks tried", "voc2007_cca_rank", "dims"),
        ("CMOLRS", "ml-CCA", "ranks tried", "voc2007_ml_cca_rank", "dims"),
        ("CMOLRS", "CMOLRS", "ranks tried", "voc2007_cmolrs_rank", "rank"),
        ("VASE", "VASE", "beta grid", "places_vgg16_2stream", "inverse_temperature"),
        ("VASE", "VASE", "beta grid", "places_vgg16_vase", "inverse_temperature"),
        ("VASE", "VASE", "beta grid", "places_resnet50_2stream", "inverse_temperature"),
        ("VASE", "VASE", "beta grid", "places_resnet50_vase", "inverse_temperature"),
    ],
)
def test_a_grid_has_the_values_that_were_tried(paper, method, parameter, group, option):
    made = [PARAMS.experiments[e] for e in PARAMS.experiments if e.startswith(f"{group}-")]
    dataset = made[0].published.dataset if made[0].published else "Pascal Sentences"
    tried = stated(paper, (method,), dataset)[parameter]
    assert {spec.set_by_grid()[option] for spec in made} == {float(v) for v in tried.split()}


@pytest.mark.parametrize("experiment", PARAMS.tables["flickr8k_pipelines"].experiments)
def test_a_grid_of_rates_goes_beyond_the_best_that_was_found(experiment):
    job = PARAMS.fit(experiment)
    ((option, rates),) = job.search.items()
    best = job.options[option]
    assert option.endswith("rate")
    assert rates == sorted(rates)
    assert rates[0] < best < rates[-1]
    assert best in rates


@pytest.mark.parametrize("embedding", ["fc7", "fne", "fne_z"])
@pytest.mark.parametrize(("alone", "both"), [("sh", "ph"), ("soe", "poe")])
def test_the_small_curricula_are_the_sum_until_its_rate_falls(embedding, alone, both):
    jobs = [PARAMS.fit(f"flickr8k_{embedding}_{name}") for name in (alone, both)]
    first, then = (job.options for job in jobs)
    assert then["learning_rate"] == first["learning_rate"]
    assert then["epochs"] == first["drop_epoch"]
    assert then["epochs"] + then["finetuning_epochs"] == first["epochs"]


@pytest.mark.parametrize("paper", OPTIONS)
def test_stated_hyperparameters_are_compared_or_excused(paper):
    numbers = {
        row["parameter"].partition(" of the reported model")[0]
        for row in ROWS
        if row["paper"] == paper and re.fullmatch(r"[\d. ]+", row["value"])
    }
    assert numbers - OPTIONS[paper].keys() == ELSEWHERE[paper].keys()


@pytest.mark.parametrize("pattern", sorted({pattern for pattern, _ in DEVIATIONS}))
def test_a_deviation_is_of_experiments_that_exist(pattern):
    assert any(fnmatch(experiment, pattern) for experiment in PARAMS.experiments)
