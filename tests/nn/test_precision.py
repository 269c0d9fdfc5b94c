import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from crossmodal.errors import CrossmodalError
from crossmodal.nn.captions import CaptionEncoder
from crossmodal.nn.mlp import linear
from crossmodal.nn.precision import compute_in
from crossmodal.nn.sequences import BiGRU
from crossmodal.nn.speech import SpeechEncoder
from crossmodal.repeatability import PORTABLE

LENGTHS = torch.tensor([64, 48, 16])
NETWORKS = {
    "layer": (lambda: linear(20, 8), lambda: (torch.randn(6, 20),)),
    "layers": (
        lambda: nn.Sequential(linear(20, 8), nn.BatchNorm1d(8), nn.Tanh(), linear(8, 4)),
        lambda: (torch.randn(6, 20),),
    ),
    "captions": (
        lambda: CaptionEncoder(30, 12, 16),
        lambda: (nn.utils.rnn.pack_sequence([torch.arange(n) for n in (9, 5, 2)]),),
    ),
    "recurrent": (lambda: BiGRU(10, 8, 2), lambda: (torch.randn(3, 64, 10), LENGTHS)),
    "speech": (
        lambda: SpeechEncoder("davenet", 8, 0.125, 1, False),
        lambda: (torch.randn(3, 64, 40), LENGTHS),
    ),
}

pytestmark = pytest.mark.usefixtures("cpu")


class Products(TorchDispatchMode):
    """Notes the precision of what is multiplied."""

    def __init__(self):
        super().__init__()
        self.precisions = set()

    def __torch_dispatch__(self, function, types, given=(), named=None):
        kind = function.overloadpacket.__name__
        if any(part in kind for part in ("mm", "convolution", "linear_pointwise")):
            self.precisions |= {x.dtype for x in given if isinstance(x, torch.Tensor)}
        return function(*given, **named or {})


def made(name, precision):
    torch.manual_seed(0)
    network, inputs = (make() for make in NETWORKS[name])
    compute_in(precision, network)
    return network, inputs


def output_and_gradients(name, precision):
    network, inputs = made(name, precision)
    output = network(*inputs)
    weights = torch.linspace(-1, 1, output.numel()).view_as(output)
    trained = [p for p in network.parameters() if p.requires_grad]
    return [output, *torch.autograd.grad((output * weights).sum(), trained)]


@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_and_gradients_are_nearly_those_of_float32(name):
    narrow, single = (output_and_gradients(name, p) for p in ("bfloat16", "float32"))
    assert {x.dtype for x in narrow} == {torch.float32}
    for part, within in ((slice(1), 0.03), (slice(1, None), 0.15)):  # maxima may be others
        found, expected = (torch.cat([x.flatten() for x in xs[part]]) for xs in (narrow, single))
        assert 0 < (found - expected).norm() <= within * expected.norm()


@pytest.mark.parametrize("name", NETWORKS)
def test_every_product_of_a_network_is_in_bfloat16(name):
    network, inputs = made(name, "bfloat16")
    with Products() as products:
        network(*inputs).sum().backward()
    assert products.precisions == {torch.bfloat16}


@pytest.mark.parametrize("name", NETWORKS)
def test_weights_keep_names_and_precision(name):
    narrow, single = (made(name, p)[0].state_dict() for p in ("bfloat16", "float32"))
    assert narrow.keys() == single.keys()
    for key, value in narrow.items():
        assert torch.equal(value, single[key])
        assert value.dtype == single[key].dtype


def test_portable_instructions_have_no_bfloat16(monkeypatch):
    for name, value in PORTABLE.items():
        monkeypatch.setenv(name, value)
    compute_in("float32", nn.Identity())
    with pytest.raises(CrossmodalError, match="portable"):
        compute_in("bfloat16", nn.Identity())
