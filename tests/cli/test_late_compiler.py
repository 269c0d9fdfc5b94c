"""PyTorch's compiler is loaded where something is compiled, and only there."""

import subprocess
import sys

from crossmodal.cli import late_compiler

SCRIPT = """
import sys
from crossmodal.cli.late_compiler import put_off_compiler

put_off_compiler()
import torch
import torchvision

network = torch.nn.Linear(2, 2)
for make in (torch.optim.Adam, torch.optim.SGD):
    optimizer = make(network.parameters())
    network(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    optimizer.load_state_dict(optimizer.state_dict())
print("torch._dynamo.eval_frame" in sys.modules)
print(COMPILED)
optimizer.step()
print("torch._dynamo.eval_frame" in sys.modules)
"""


def printed(compiled):
    script = SCRIPT.replace("COMPILED", compiled)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_fits_and_torchvision_do_without_the_compiler():
    assert printed("None") == ["False", "None", "False"]


def test_what_is_compiled_loads_the_compiler():
    double = "torch.compile(lambda x: 2 * x, backend='eager')(torch.ones(1)).item()"
    assert printed(double) == ["False", "2.0", "True"]


def test_what_torchvision_asks_of_the_compiler_loads_it():
    asked = "sys.modules['torchvision.ops.roi_align'].is_compile_supported('meta')"
    assert printed(asked) == ["False", "False", "True"]


def test_nothing_is_changed_about_a_function():
    assert late_compiler._disable(len) is len
    assert late_compiler._disable(recursive=False)(len) is len
