import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import sys
from crossmodal import cli
cli.app = lambda: None
if sys.argv[1:]:
    cli.main()
import numpy as np


def work():
    for size in range(2**20, 2**21, 2**16):
        a, b = np.ones(size), np.ones(size // 2)  # 8 to 16 MB
        del a, b


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


work()
before = faults()
work()
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="sets an option of glibc")
def test_command_keeps_memory_that_it_frees():
    kept, returned = (
        int(
            subprocess.run(
                [sys.executable, "-c", FAULTS, *arguments],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for arguments in (["main"], [])
    )
    assert kept < 100 < 1_000 < returned
