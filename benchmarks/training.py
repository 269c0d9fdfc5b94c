"""Training speed of SH, SAM and VASE on this machine, next to plain PyTorch loops.

The peer of SH pads the captions, which a DataLoader collates item by item. The peer of MH trains as
VSE++'s released loop does: words are split and looked up whenever a caption is drawn, sequences
sorted and packed, gradients clipped together. The peer of SAM lists the triplets of each batch and
gathers their scores and margins. The peer of VASE trains as the released loop of DAVEnet does:
shuffled clips are padded, to 2,048 frames as released or to the longest of the batch; an image of
one channel is convolved, and PyTorch's GRU reads the steps. All have the same networks,
hyper-parameters and loss as ours, which is checked on one batch first. Each is measured in float32,
as released, and in bfloat16: ours by its option `precision`, the peer within PyTorch's autocast.
Ratios are ours by the peer, `f/f` and `b/b` in the same precision, `b/f` bfloat16 by float32. One
thread, best of two; ours packs captions, so that it has no padding. On a processor, `most` is the
ratio of a step in float32 that did its matrix products alone. The last rows compare ours on FNE's
12,416 columns of int8 with ours on FC7's 4,096 of float32: a ratio of 0.67 or more means that a
step takes at most 1.5 times as long. Captions are those of Flickr8k where CROSSMODAL_MIRROR has
it, else random words.
Run: PYTHONPATH=. python benchmarks/training.py [ROW ...], rows by the beginnings of their names
"""

import os
import sys
import zipfile
from collections import Counter
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from unittest.mock import patch

import numpy as np
import torch
from nltk.tokenize import NLTKWordTokenizer
from torch import nn
from torch.nn.functional import conv2d, linear, max_pool2d, normalize
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

from benchmarks.ratio import Row, named
from crossmodal.cli.memory import keep_freed_memory
from crossmodal.config import params
from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.device import device
from crossmodal.features._vocabulary import END, tokenise
from crossmodal.learning.method import Run
from crossmodal.methods.multimodal_embedding import MultimodalEmbedding
from crossmodal.methods.sam import SAM
from crossmodal.methods.vase import VASE
from crossmodal.nn import gru, onednn
from crossmodal.nn.losses import ranking_loss
from crossmodal.training.pairs import Batch

WORDS, FC7, FNE, BAG, CAPTIONS = 9_000, 4_096, 12_416, 1_000, 5
# shape and scale of the lengths' gamma distribution: mean 180, deviation 76, as of the scenes
BINS, FRAMES, RELEASED = 40, (5.6, 32), 2_048
WARM_UP, ROUNDS = 1, 2
PRESETS = params.read(Path("params.yaml"))
SH, MH, SAM_OPTIONS = (PRESETS.plugin("methods", n)["options"] for n in ("sh", "mh", "sam"))
BASE = PRESETS.plugin("methods", "vase_small")["options"] | {"cycle_weight": 0.0}
PRECISIONS = ("float32", "bfloat16")
MARGIN, CLIP, RATE = SH["margin"], SH["clip"], SH["learning_rate"]


# on a processor, seconds of it: other programs do not count
clock = process_time if device().type == "cpu" else perf_counter


def make_split(image, text, labels):
    views = {}
    for modality, rows in (("image", image), ("text", text)):
        owners = np.arange(len(rows)) * len(image) // len(rows)
        views[modality] = View(rows, owners, owners.tolist(), {"vocabulary": range(WORDS)})
    return Split(list(range(len(image))), labels, views)


def ternary(count, rng):
    return rng.integers(-1, 2, (count, FNE), np.int8)


def rectified(count, rng):
    return rng.standard_normal((count, FC7), np.float32).clip(min=0)


def captioned(count, rng, draw_images=ternary):
    """Image features and five captions each, of 13 words on average."""
    images = draw_images(count, rng)
    captions = Ragged.concatenate(sentences(count * CAPTIONS, rng))
    return make_split(images, captions, np.zeros((count, 0), bool))


def sentences(count, rng):
    """Word ids of captions."""
    archive = Path(os.environ.get("CROSSMODAL_MIRROR", "none")) / "flickr8k" / "Flickr8k_text.zip"
    if not archive.exists():
        return [rng.integers(4, WORDS, length) for length in rng.integers(8, 19, count)]
    text = zipfile.ZipFile(archive).read("Flickr8k.token.txt").decode()
    lines = [line.partition("\t")[2] for line in text.splitlines()[:count]]
    captions = [tokenise(line) for line in lines]
    frequent = Counter(word for caption in captions for word in caption).most_common(WORDS - 4)
    ids = {word: 4 + rank for rank, (word, _) in enumerate(frequent)}
    return [np.array([*(ids[word] for word in caption), END]) for caption in captions]


def categorised(count, rng):
    """Rectified image features and word counts of items in ten categories."""
    images = rectified(count, rng)
    words = rng.poisson(0.05, (count, BAG)).astype(np.float32)
    return make_split(images, words, np.eye(10, dtype=bool)[np.arange(count) % 10])


def start(method, split):
    """Make the network as `fit` does."""
    torch.manual_seed(0)
    method.network = method.build(split.views).to(device())
    method.place(split)


def ours(method, split, validation):
    """Steps per second of `fit`, from the end of the warm-up to the end of training."""
    stamps, loss = [], type(method).loss

    def stamped(batch):
        stamps.append(clock())
        return loss(method, batch)

    method.loss = stamped
    method.fit(split, validation, Run(seed=0))
    return (len(stamps) - WARM_UP) / (clock() - stamps[WARM_UP])


def plain(method, split, optimizer, batches, loss, together=lambda _: []):
    """Steps per second of a plain loop over all batches of all epochs.

    `together` makes groups of parameters, each of which has its gradients clipped to one norm.
    """
    start(method, split)
    method.network.train()
    optimizer, stamps = optimizer(method), []
    narrow = method.options.precision == "bfloat16"
    for batch in batches(method, split):
        stamps.append(clock())
        optimizer.zero_grad()
        with torch.autocast(device().type, torch.bfloat16, enabled=narrow):
            value = loss(method, batch)
        value.backward()
        for group in together(p for p in method.network.parameters() if p.grad is not None):
            clip_grad_norm_(group, CLIP)
        optimizer.step()
    value.item()  # waits for a GPU
    return (len(stamps) - WARM_UP) / (clock() - stamps[WARM_UP])


def rates(make, split, validation, *peer):
    """Steps per second of ours in either precision, then of the peer."""
    methods = [make(precision=precision) for precision in PRECISIONS]
    fast = [ours(method, split, validation) for method in methods]
    return *fast, *(plain(method, split, *peer) for method in methods)


def products(method, batch):
    """Steps per second, were a step its matrix products alone."""
    pairs, product = [], onednn.product

    def kept(a, b):
        pairs.append((a.detach(), b.detach()))
        return product(a, b)

    with patch.object(onednn, "product", kept), patch.object(gru, "product", kept):
        method.loss(batch).backward()
    begin = clock()
    for a, b in pairs:
        gru.product(a, b)
    return 1 / (clock() - begin) if pairs else np.nan  # cuDNN's cannot be told apart


class Captions:
    """Each image with one of its captions, drawn at random."""

    def __init__(self, split):
        self.images, self.captions = (split.views[m].features for m in ("image", "text"))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, item):
        caption = self.captions[CAPTIONS * item + int(torch.randint(CAPTIONS, ()))]
        return torch.from_numpy(self.images[item]).float(), torch.from_numpy(caption)


def padded(pairs):
    images, captions = zip(*pairs, strict=True)
    lengths = torch.tensor([len(caption) for caption in captions])
    return torch.stack(images), pad_sequence(captions), lengths


def padded_batches(method, split):
    loader = DataLoader(
        Captions(split), method.options.batch, True, collate_fn=padded, drop_last=True
    )
    return (batch for _ in range(method.options.epochs) for batch in loader)


def waste(split, rng):
    """Share of the peer's steps of captions that are padding."""
    rows = rng.permutation(len(split.views["text"].items)).reshape(-1, 128)
    lengths = split.views["text"].features.lengths[rows]
    return 1 - lengths.sum() / (128 * lengths.max(axis=1).sum())


def padded_loss(method, batch):
    images, captions, lengths = (part.to(device()) for part in batch)
    encoder = method.network["text"]
    states, _ = encoder.gru(encoder.words(captions))  # (t, b, D)
    return sum(hinge.sum() for hinge in hinges(method, images, states, lengths))


def hinges(method, images, states, lengths):
    """Of each image's wrong captions (b, b), and of each caption's wrong images."""
    c = normalize(states[lengths - 1, torch.arange(len(lengths))])
    scores = normalize(method.network["image"](images)) @ c.T
    own, itself = scores.diag(), torch.eye(len(scores), dtype=torch.bool, device=device())
    positives = (own[:, None], own[None, :])
    return [(MARGIN + scores - own).clamp(min=0).masked_fill(itself, 0) for own in positives]


class Sentences(Captions):
    """Each caption, as a text, with its image."""

    def __init__(self, split):
        super().__init__(split)
        self.texts = [" ".join(map(str, caption)) for caption in self.captions]
        self.vocabulary = {str(word): word for word in range(WORDS)}
        self.tokeniser = NLTKWordTokenizer()

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, row):
        words = self.tokeniser.tokenize(self.texts[row].lower())
        image = torch.from_numpy(self.images[row // CAPTIONS]).float()
        return image, torch.tensor([self.vocabulary[word] for word in words])


def longest_first(pairs):
    return padded(sorted(pairs, key=lambda pair: len(pair[1]), reverse=True))


def packed_batches(method, split):
    """As many batches as ours."""
    loader = DataLoader(
        Sentences(split), method.options.batch, True, collate_fn=longest_first, drop_last=True
    )
    steps = len(split.items) // method.options.batch * method.options.epochs
    return islice((batch for _ in range(method.options.epochs) for batch in loader), steps)


def packed_loss(method, batch):
    images, captions, lengths = (part.to(device()) for part in batch)
    encoder = method.network["text"]
    packed = pack_padded_sequence(encoder.words(captions), lengths.cpu())
    states, _ = pad_packed_sequence(encoder.gru(packed)[0])  # (t, b, D)
    captions, images = hinges(method, images, states, lengths)
    return captions.amax(1).sum() + images.amax(0).sum()


def adam(method):
    trained = [p for p in method.network.parameters() if p.requires_grad]
    return torch.optim.Adam(trained, RATE)


def one_by_one(parameters):
    return [[parameter] for parameter in parameters]


def all_together(parameters):
    return [list(parameters)]


def captions(options, batches, loss, collate, together, dims, word_dims, count, epochs, rng):
    """A caption pipeline and its peer."""
    split, validation = captioned(count, rng), captioned(2, rng)
    options = options | {"dims": dims, "word_dims": word_dims, "epochs": epochs}
    make = partial(MultimodalEmbedding, **options)
    method = make()
    start(method, split)
    rows = np.arange(128)
    words = [split.views["text"].features[CAPTIONS * row] for row in rows]
    images = split.views["image"].features[rows].astype(np.float32)
    batch = collate(list(zip(*(map(torch.from_numpy, x) for x in (images, words)), strict=True)))
    pairs = rows, CAPTIONS * rows
    torch.testing.assert_close(loss(method, batch), method.loss(pairs))
    bound = products(method, pairs)
    return *rates(make, split, validation, adam, batches, loss, together), bound


sh = partial(captions, SH, padded_batches, padded_loss, padded, one_by_one)
mh = partial(captions, MH, packed_batches, packed_loss, longest_first, all_together)


def embeddings(options, dims, word_dims, count, epochs, rng):
    """A caption pipeline on FNE and on FC7."""
    method = MultimodalEmbedding(
        **options | {"dims": dims, "word_dims": word_dims, "epochs": epochs}
    )
    return [
        ours(method, captioned(count, rng, draw), captioned(2, rng, draw))
        for draw in (ternary, rectified)
    ]


sh_embeddings, mh_embeddings = partial(embeddings, SH), partial(embeddings, MH)


def triplet_batches(method, split):
    loader = DataLoader(range(len(split.items)), method.options.batch, shuffle=True)
    for epoch in range(method.options.epochs):
        next(iter(method.batches(epoch, np.random.default_rng(epoch))))  # schedule, centroids
        method.network.train()
        yield from loader


def triplet_loss(method, batch):
    batch = batch.to(device())
    v, t = (normalize(method.network[m](x[batch])) for m, x in method.inputs.items())
    kinds = method.labels[batch].argmax(1)
    anchor, negative = (kinds[:, None] != kinds).nonzero().unbind(1)  # 36,000 of a batch of 200
    adaptive = 0
    for modality, x in method.inputs.items():
        distances = torch.cdist(x[batch], x[batch]) / method.diameters[modality]
        centroids = method.centroids[modality][kinds]
        cosines = (centroids[anchor] * centroids[negative]).sum(1)
        adaptive += method.options.feature_share * distances[anchor, negative] / 2
        adaptive += (1 - method.options.feature_share) * (1 - cosines) / 4
    margin = method.alpha * adaptive + (1 - method.alpha) * method.options.margin
    own = (v[anchor] * t[anchor]).sum(1)
    wrong_text = (margin - own + (v[anchor] * t[negative]).sum(1)).clamp(min=0)
    wrong_image = (margin - own + (v[negative] * t[anchor]).sum(1)).clamp(min=0)
    return (wrong_text + wrong_image).sum() / len(batch)


def sam(count, epochs, rng):
    split, validation = categorised(count, rng), categorised(20, rng)
    make = partial(SAM, **SAM_OPTIONS | {"epochs": epochs})
    method = make()
    start(method, split)
    batch = next(iter(method.batches(0, rng)))  # leaves dropout off
    torch.testing.assert_close(triplet_loss(method, batch), method.loss(batch))
    return rates(make, split, validation, SAM.optimizer, triplet_batches, triplet_loss)


def spoken(count, rng):
    """Three-valued image features, each with one clip."""
    images = rng.integers(-1, 2, (count, 3_120), np.int8)
    lengths = rng.gamma(*FRAMES, count).clip(60, 520).astype(int)
    clips = Ragged.concatenate(rng.uniform(-80, 0, (n, BINS)).astype(np.float16) for n in lengths)
    views = {
        m: View(x, np.arange(count), range(count), {})
        for m, x in (("image", images), ("speech", clips))
    }
    return Split(list(range(count)), np.zeros((count, 0), bool), views)


def padded_clips(rows, split, frames):
    """Images, clips padded to `frames`, or to the longest clip without, and their lengths."""
    images, clips = (split.views[m].features for m in ("image", "speech"))
    lengths = torch.from_numpy(clips.lengths[rows])
    size = frames or -(-int(lengths.max()) // 16) * 16
    padded = torch.zeros(len(rows), size, BINS)
    for place, row in zip(padded, rows, strict=True):
        place[: len(clips[row])] = torch.from_numpy(clips[row])
    return torch.from_numpy(images[rows]).float(), padded, lengths


def clip_batches(frames, method, split):
    loader = DataLoader(
        range(len(split.items)),
        method.options.batch,
        True,
        collate_fn=partial(padded_clips, split=split, frames=frames),
    )
    return (batch for _ in range(method.options.epochs) for batch in loader)


def clip_loss(method, batch):
    images, frames, lengths = (part.to(device()) for part in batch)
    network, encoder = method.network, method.network["speech"]
    x = encoder.steps.convolutions.input_norm(frames.transpose(1, 2)[:, None])  # (b, 1, 40, t)
    first, *others = (x for x in encoder.steps.convolutions.layers if isinstance(x, nn.Conv2d))
    x = conv2d(x, first.weight.permute(0, 2, 1, 3), first.bias).relu()
    for layer in others:
        x = conv2d(x, layer.weight, layer.bias, padding=layer.padding).relu()
        x = max_pool2d(x, (1, 3), (1, 2), (0, 1))
    counts = (lengths // 16).clamp(min=1).cpu()
    steps = pack_padded_sequence(x[:, :, 0].transpose(1, 2), counts, True, enforce_sorted=False)
    states = encoder.recurrent.gru(steps)[1]
    clips = linear(torch.cat([*states], 1), encoder.project.weight, encoder.project.bias)
    images = linear(normalize(images), network["image"].weight, network["image"].bias)
    return ranking_loss(normalize(images) @ normalize(clips).T, method.options.margin)


def vase(frames, count, epochs, rng):
    split, validation = spoken(count, rng), spoken(2, rng)
    make = partial(VASE, **BASE | {"epochs": epochs})
    method = make()
    start(method, split)
    rows = np.arange(32)
    expected = method.loss(Batch(rows, rows))
    # a GPU computes ours in bfloat16
    digits = {} if device().type == "cpu" else {"rtol": 1e-3, "atol": 0}
    torch.testing.assert_close(clip_loss(method, padded_clips(rows, split, 0)), expected, **digits)
    peer = adam, partial(clip_batches, frames), clip_loss, all_together
    return rates(make, split, validation, *peer)


def best(measure, sizes):
    """Each rate in its best round."""
    return np.max([measure(*sizes, np.random.default_rng(0)) for _ in range(ROUNDS)], axis=0)


def wanted(name):
    return len(sys.argv) == 1 or name.startswith(tuple(sys.argv[1:]))


def report(name, measure, *sizes):
    if wanted(name):
        ours_f, ours_b, peer_f, peer_b, *bound = best(measure, sizes)
        ratios = ours_f / peer_f, ours_b / peer_f, ours_b / peer_b, *(b / peer_f for b in bound)
        text = "".join(f"{rate:8.2f}" for rate in (ours_f, ours_b, peer_f, peer_b, *ratios))
        print(f"{name:<44}{text}", flush=True)


def ratios():
    """In float32: rows of one of each paper's pipelines."""
    torch.set_num_threads(1)
    keep_freed_memory()  # as jobs do
    for name, measure, *sizes in SHOWN:
        ours_f, _, peer_f, *_ = best(measure, sizes)
        peer = f"a plain loop, {named('torch')}"
        yield Row(f"A training step: {name}", "float32", peer, 1 / ours_f, 1 / peer_f)


def report_columns(name, measure, *sizes):
    if wanted(name):
        fne, fc7 = best(measure, sizes)
        print(f"{name:<44}{fne:8.2f}{fc7:8.2f}{fne / fc7:8.2f}", flush=True)


SHOWN = (
    ("FNE-SH, 512 units, 300-d words, batch 128", sh, 512, 300, 640, 1),
    ("VASE's base, DAVEnet / 8, batch 32", partial(vase, 0), 640, 1),
    ("SAM, 4096-d images, 1000-d texts, batch 200", sam, 1_000, 1),
)


def main():
    torch.set_num_threads(1)
    keep_freed_memory()  # as jobs do
    title = "steps per second on " + device().type
    columns = ("ours f", "ours b", "peer f", "peer b", "f/f", "b/f", "b/b", "most")
    print(f"{title:<44}{''.join(f'{column:>8}' for column in columns)}")
    padding = waste(captioned(1_280, np.random.default_rng(0)), np.random.default_rng(0))
    print(f"padding in the peer's batches of 128 captions: {padding:.0%}; in ours none")
    report("FNE-SH, 256 units, 128-d words, batch 128", sh, 256, 128, 1_280, 2)
    report("FNE-SH, 512 units, 300-d words, batch 128", sh, 512, 300, 640, 2)
    report("FNE-SH, 1024 units, 1024-d words, batch 128", sh, 1_024, 1_024, 2_560, 1)
    report("FNE-SH, 1536 units, 1024-d words, batch 128", sh, 1_536, 1_024, 640, 1)
    report("FNE-MH, 1024 units, 1024-d words, batch 128", mh, 1_024, 1_024, 2_560, 1)
    report("FNE-MH, 1536 units, 1024-d words, batch 128", mh, 1_536, 1_024, 640, 1)
    report("VASE's base, DAVEnet / 8, batch 32", partial(vase, 0), 1_280, 3)
    report("the same, peer with 2,048 frames", partial(vase, RELEASED), 640, 1)
    report("SAM, 4096-d images, 1000-d texts, batch 200", sam, 1_000, 2)
    print(f"{'steps per second of ours':<44}{'FNE':>8}{'FC7':>8}{'ratio':>8}")
    report_columns("SH, 1536 units, 1024-d words, batch 128", sh_embeddings, 1_536, 1_024, 640, 1)
    report_columns("MH, 1024 units, 1024-d words, batch 128", mh_embeddings, 1_024, 1_024, 640, 1)
    report_columns("SH, 512 units, 300-d words, batch 128", sh_embeddings, 512, 300, 640, 2)


if __name__ == "__main__":
    main()
