import os
import subprocess
import sys

import pytest

COUNT = """
import sys
from crossmodal import cli
cli.app = lambda: None
cli.main()
import torch, threadpoolctl, numpy.linalg, scipy.linalg
pools = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
assert pools
print(torch.get_num_threads(), *pools)
"""


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"])
def test_a_command_computes_with_one_thread_whatever_the_environment_says(variable):
    result = subprocess.run(
        [sys.executable, "-c", COUNT],
        env={**os.environ, variable: "3"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(result.stdout.split()) == {"1"}
