"""A frozen dual encoder, such as CLIP, beside what is learnt from a user's own pairs."""

import re
from importlib.util import find_spec

from crossmodal.commands.own_overlay import as_key, relevance_of
from crossmodal.commands.own_rows import rows_on_vectors
from crossmodal.errors import ENCODERS, CrossmodalError, unknown
from crossmodal.io.hub import Model, model_of
from crossmodal.io.spreadsheets import Row

USUAL = {"clip": "laion/CLIP-ViT-B-32-laion2B-s34B-b79K", "siglip": "timm/ViT-B-16-SigLIP"}
ON_HUB = re.compile(r"[\w.-]+/[\w.-]+(@[\w.-]+)?")
FEATURES = """\
  {name}_encoder_image: {{plugin: clip_image, weights: {file}}}
  {name}_encoder_text: {{plugin: clip_text, weights: {file}, unit: item}}
"""
GROUP = """\
  {name}_encoder:  # the same on vectors of {repository}
    dataset: {key}
    views: {{image: {name}_encoder_image, text: {name}_encoder_text}}
    relevance: {relevance}
    label: '{{method}} on {short}'
    rows:
{rows}"""


def encoder_named(name: str) -> Model:
    """Return the model of the hub that a name stands for.

    Args:
        name: `clip` or `siglip`; a repository of the hub, `ORG/NAME` or `ORG/NAME@REVISION`; or a
            name of open_clip's, `ARCHITECTURE` or `ARCHITECTURE:TAG`.

    Raises:
        CrossmodalError: If there is no such model, or open_clip has it from elsewhere.
    """
    if name in USUAL:
        return Model(USUAL[name])
    if ON_HUB.fullmatch(name):
        repository, _, revision = name.partition("@")
        model = Model(repository, revision)
        if model_of(model.file) == model:
            return model
    return _of_open_clip(name)


def _of_open_clip(name: str) -> Model:
    """Return the repository from which open_clip takes a model."""
    if not find_spec("open_clip"):
        raise CrossmodalError(
            f"--encoder {name}: is none of {', '.join(USUAL)}, and no ORG/NAME of the hub; names "
            f"of open_clip's need open_clip: {ENCODERS}"
        )
    import open_clip

    architecture, _, tag = name.partition(":")
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if not tags:
        answer = unknown(architecture, {*USUAL, *open_clip.list_models()})
        raise CrossmodalError(f"--encoder {name}: {answer}; or give ORG/NAME of the hub")
    for each in [tag] if tag else tags:
        source = open_clip.get_pretrained_cfg(architecture, each) or {}
        if repository := source.get("hf_hub", "").strip("/"):
            return Model("/".join(repository.split("/")[:2]))
    raise CrossmodalError(
        f"--encoder {name}: open_clip has no weights of it on the hub; it has: {', '.join(tags)}"
    )


def encoder_features(name: str, model: Model) -> str:
    """Return the features of both halves as YAML."""
    return FEATURES.format(name=name, file=model.file)


def encoder_group(name: str, model: Model, rows: list[Row]) -> str:
    """Return the experiments on the encoder's vectors of a dataset with these rows as YAML."""
    is_labelled = any(row["labels"] for row in rows)
    short = model.repository.partition("/")[2]
    return GROUP.format(
        name=name,
        key=as_key(name),
        repository=model.repository,
        relevance=relevance_of(rows),
        short=short,
        rows=rows_on_vectors(f"'{short}, frozen'", is_labelled, f"'Ridge on {short}'"),
    )
