import sys
from pathlib import Path

import pytest

from crossmodal.commands.run_mteb import run_mteb
from crossmodal.errors import CrossmodalError


def test_without_the_extra_it_is_said_how_to_install_it(monkeypatch):
    for name in ("datasets", "mteb"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CrossmodalError, match=r"pip install 'crossmodal-retrieval\[mteb\]'"):
        run_mteb(Path("model"), ["scenes"], "test", Path("results/mteb"), Path("weights"))
