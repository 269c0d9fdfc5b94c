import sys
from pathlib import Path

import pytest

from crossmodal.commands.mteb import mteb
from crossmodal.errors import CrossmodalError


def test_mteb_missing_extra_refused(monkeypatch):
    for name in ("datasets", "mteb"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CrossmodalError, match=r"pip install 'crossmodal-retrieval\[mteb\]'"):
        mteb(Path("model"), ["scenes"], "test", *map(Path, ("results", "weights", "params.yaml")))
