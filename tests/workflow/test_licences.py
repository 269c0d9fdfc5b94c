"""What `crossmodal push` sends is what `.dvcignore` opens."""

from pathlib import Path

import pytest
from dvc.repo import Repo

from crossmodal.workflow import licences, sharing
from tests.project_params import PARAMS


@pytest.fixture(scope="module")
def is_closed(tmp_path_factory):
    """Tell whether DVC would leave a path out."""
    folder = tmp_path_factory.mktemp("repo")
    Repo.init(str(folder), no_scm=True).close()
    (folder / ".dvcignore").write_text(sharing.ignored(PARAMS))
    with Repo(str(folder)) as repo:
        yield lambda path: repo.dvcignore.is_ignored_file(str(folder / path))


@pytest.mark.parametrize("dataset", PARAMS.datasets)
def test_media_and_features_are_closed_where_dvc_has_them_so(is_closed, dataset):
    for file in ("captions.csv", "media.zip"):
        path = Path("data/prepared", dataset, file)
        assert bool(licences.closed_media(PARAMS, dataset)) == is_closed(path)
    for feature in PARAMS.features:
        path = Path("features", dataset, f"{feature}.h5")
        assert bool(licences.closed_feature(PARAMS, dataset, feature)) == is_closed(path), path


def test_models_are_closed_where_dvc_has_them_so(is_closed):
    closed = {name for name in PARAMS.experiments if licences.closed_model(PARAMS, name)}
    assert closed == {e for e in PARAMS.experiments if is_closed(f"models/{e}/seed0/model.json")}
