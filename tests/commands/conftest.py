import pytest


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path, monkeypatch):
    """Commands read and write under the working folder."""
    monkeypatch.chdir(tmp_path)
