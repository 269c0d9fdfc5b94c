import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.nn.dual_encoder import _check


@pytest.mark.parametrize("name", ["hf-hub:me/mine", "local-dir:/etc"])
def test_an_image_encoder_of_another_place_is_refused(tmp_path, name):
    config = {"model_cfg": {"vision_cfg": {"timm_model_name": name}, "text_cfg": {}}}
    with pytest.raises(CrossmodalError, match=rf"its image encoder is {name}"):
        _check(tmp_path / "a.safetensors", config, tmp_path)
