import pytest

from crossmodal.errors import CrossmodalError


@pytest.fixture
def failure(tmp_path):
    """The message of a preparation that fails, which must leave nothing in tmp_path/prepared."""

    def failure(prepare, *arguments):
        with pytest.raises(CrossmodalError) as caught:
            prepare(*arguments)
        assert list((tmp_path / "prepared").iterdir()) == []
        return str(caught.value)

    return failure
