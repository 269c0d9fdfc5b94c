import pytest

from crossmodal.models.earlier_options import current_options
from tests.project_params import PARAMS


@pytest.mark.parametrize(
    ("plugin", "earlier", "current"),
    [
        ("cfa", {"dims": 9, "input_norm": "raw"}, {"dims": 9, "scaling": "centre"}),
        ("kcca", {"kernel": "rbf", "input_norm": "l2"}, {"scaling": "l2-centre"}),
        ("kcca", {"kernel": "linear"}, {"kernel": "linear"}),
        ("lgcfl", {"dragging": True, "input_norm": "zscore"}, {"scaling": "zscore"}),
        ("dcca", {"input_norm": "centre"}, {"scaling": "centre-scale"}),
        ("deep_sm", {"temperature": 1.0, "input_norm": "raw"}, {"scaling": "raw"}),
        ("matchmap", {"input_norm": "zscore"}, {"scaling": "zscore"}),
        ("sam", {"scaling": "centre-l2"}, {"scaling": "centre-l2"}),
    ],
)
def test_earlier_options_get_current_names(plugin, earlier, current):
    assert current_options(plugin, earlier) == current


def test_current_options_stay():
    fits = [PARAMS.fit(name) for name in PARAMS.experiments]
    assert all(current_options(fit.plugin, fit.options) == fit.options for fit in fits)
