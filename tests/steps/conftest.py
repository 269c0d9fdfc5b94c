import pytest


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path, monkeypatch):
    """Steps keep unfinished work under the working folder."""
    monkeypatch.chdir(tmp_path)
