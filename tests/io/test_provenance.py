import platform
import sys
from importlib.metadata import version

import numpy as np
import pytest
import torch

from crossmodal.io.provenance import provenance


@pytest.mark.parametrize("loaded", [True, False])
def test_processor_is_named_with_or_without_pytorch(cpu, monkeypatch, loaded):
    if not loaded:
        monkeypatch.delitem(sys.modules, "torch")
    made = provenance("0123", {"a.h5": "4567"})
    assert made["device"].split()[0] == platform.machine()
    assert {key: made[key] for key in ("code", "inputs")} == {
        "code": "0123",
        "inputs": {"a.h5": "4567"},
    }
    assert made["versions"]["numpy"] == np.__version__
    assert made["versions"]["torch"] == version("torch")
    assert made["threads"] >= 1


@pytest.mark.parametrize(
    ("extensions", "named"),
    [
        ({"baseline": ["X86_V2"], "found": ["X86_V3"], "not found": ["X86_V4"]}, ["X86_V3"]),
        ({"baseline": ["X86_V2"], "not found": ["X86_V3"]}, ["X86_V2"]),
        ({"not found": ["X86_V3"]}, []),
        (None, []),
    ],
)
def test_newest_vector_instructions_are_named(cpu, monkeypatch, extensions, named):
    config = {"SIMD Extensions": extensions} if extensions else {}
    monkeypatch.setattr(np, "show_config", lambda mode: config)
    assert provenance("", {})["device"].split() == [platform.machine(), *named]


def test_gpu_is_named_where_pytorch_may_have_used_it(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A GPU")
    assert provenance("", {})["device"] == "A GPU"
    monkeypatch.delitem(sys.modules, "torch")
    assert provenance("", {})["device"] != "A GPU"
