import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.workflow.linked_folders import PLACES, refuse_links


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project's folder, and a disk beside it."""
    (tmp_path / "project/data").mkdir(parents=True)
    (tmp_path / "disk").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.mark.parametrize("place", [place for place in PLACES if place != "data"])
def test_a_link_is_refused_only_if_it_leads_nowhere(folder, place):
    (folder / place).symlink_to(folder.parent / "disk")
    refuse_links(for_dvc=True)
    (folder.parent / "disk").rmdir()
    with pytest.raises(CrossmodalError, match=f"{place}: a link to .*disk, which is not there"):
        refuse_links(for_dvc=False)


def test_a_linked_data_folder_is_refused_for_dvc_alone(folder):
    (folder / "data").rmdir()
    (folder / "data").symlink_to(folder.parent / "disk")
    refuse_links(for_dvc=False)
    with pytest.raises(CrossmodalError, match=r"data: a link.*link data/raw and data/prepared"):
        refuse_links(for_dvc=True)
