import importlib
import re
import sys

import pytest

from crossmodal.config import plugins
from crossmodal.config.overlays import read_files
from crossmodal.config.params import parse
from crossmodal.errors import CrossmodalError
from crossmodal.features.fc7 import FC7
from crossmodal.workflow.sharing import ignored
from tests.config.small_params import changed
from tests.project_params import PATH

FEATURE = """
from typing import Literal
import numpy as np
from pydantic import Field, model_validator
from crossmodal.data.feature import Feature
from crossmodal.plugin import Strict

class Toy(Feature):
    modality = "text"

    class Options(Strict):
        size: int = Field(gt=0, le=9)
        rate: float = Field(ge=0)
        norm: Literal["l1", "l2"]

        @model_validator(mode="after")
        def _suits(self):
            if self.size == 7:
                raise ValueError("size 7 does not go with anything")
            return self

    def extract(self, dataset, rows, sources):
        return np.zeros((len(rows), self.options.size))
"""
OPTIONS = {"size": 3, "rate": 0.5, "norm": "l2"}


@pytest.fixture
def feature_file(tmp_path, monkeypatch):
    """Put a file beside the features for the time of the test; its name, without suffix."""
    package = importlib.import_module("crossmodal.features")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])

    def write(source, name="toy"):
        (tmp_path / f"{name}.py").write_text(source)
        return name

    yield write
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(f"crossmodal.features.{path.stem}", None)
        vars(package).pop(path.stem, None)


@pytest.fixture
def toy(feature_file):
    """Make the toy feature with some options changed; None leaves one out."""
    name = feature_file(FEATURE)

    def make(**changes):
        options = {k: v for k, v in (OPTIONS | changes).items() if v is not None}
        return plugins.make("features", name, options, "features.mine")

    return make


@pytest.mark.parametrize("kind", plugins.BASES)
def test_every_file_is_a_plugin_and_says_what_it_is(kind):
    loaded = [plugins.load(kind, name) for name in plugins.names(kind)]
    assert all(plugin.__doc__ for plugin in loaded)
    assert len({plugin.__name__ for plugin in loaded}) == len(loaded) > 0


@pytest.mark.parametrize("kind", plugins.BASES)
def test_every_option_is_described_in_a_sentence(kind):
    fields = [
        (f"{name}.{key}", field.description or "")
        for name in plugins.names(kind)
        for key, field in plugins.load(kind, name).Options.model_fields.items()
    ]
    assert not [key for key, text in fields if not re.match(r"['A-Z].*\.$", text)]


def test_a_new_file_is_a_plugin(feature_file, toy):
    assert "toy" in plugins.names("features")
    assert toy().options.model_dump() == OPTIONS


def test_the_base_class_is_no_plugin():
    assert "base" not in plugins.names("methods")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(CrossmodalError, match=r"methods: 'ccca' is unknown; did you mean 'cca'"):
        plugins.load("methods", "ccca")


def test_what_plugins_share_is_none_also_once_it_is_imported():
    importlib.import_module("crossmodal.features._mixtures")
    with pytest.raises(CrossmodalError, match="features: '_mixtures' is unknown"):
        plugins.load("features", "_mixtures")


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import numpy\nclass Other: pass", 0),
        ("from crossmodal.data.feature import Feature", 0),
        ("from crossmodal.features.published import Published", 0),
        (FEATURE + "\nclass Second(Toy): pass", 2),
    ],
)
def test_a_file_without_exactly_one_plugin_is_named(feature_file, source, count):
    name = feature_file(source, "wrong")
    with pytest.raises(CrossmodalError, match=rf"wrong\.py: defines {count} subclasses of Feature"):
        plugins.load("features", name)


@pytest.mark.parametrize(
    ("changes", "fragments"),
    [
        ({"sise": 3}, ["features.mine.sise", "unknown key", "size, rate, norm"]),
        ({"size": None}, ["features.mine.size", "missing"]),
        ({"size": "3"}, ["features.mine.size", "integer", "'3'"]),
        ({"size": 3.0}, ["features.mine.size", "integer", "3.0"]),
        ({"size": True}, ["features.mine.size", "integer", "True"]),
        ({"size": 0}, ["features.mine.size", "greater than 0", "0"]),
        ({"size": 10}, ["features.mine.size", "less than or equal to 9", "10"]),
        ({"size": [3]}, ["features.mine.size", "integer", "[3]"]),
        ({"rate": "1e-3"}, ["features.mine.rate", "number", "'1e-3'"]),
        ({"rate": False}, ["features.mine.rate", "number", "False"]),
        ({"rate": -0.5}, ["features.mine.rate", "greater than or equal to 0", "-0.5"]),
        ({"rate": float("nan")}, ["features.mine.rate", "nan"]),
        ({"rate": float("inf")}, ["features.mine.rate", "finite", "inf"]),
        ({"norm": "l3"}, ["features.mine.norm", "'l1' or 'l2'", "'l3'"]),
        ({"size": 7}, ["features.mine", "size 7 does not go with anything"]),
    ],
)
def test_a_wrong_option_is_named_with_what_is_allowed(toy, changes, fragments):
    with pytest.raises(CrossmodalError) as caught:
        toy(**changes)
    assert [f for f in fragments if f not in str(caught.value)] == []


def test_every_wrong_option_has_its_line(toy):
    with pytest.raises(CrossmodalError) as caught:
        toy(size="3", rate=None, nom="l2")
    keys = {line.split(": ")[1] for line in str(caught.value).splitlines()}
    assert keys == {"features.mine.size", "features.mine.rate", "features.mine.nom"}


def test_a_whole_number_is_a_number(toy):
    assert toy(rate=1).options.rate == 1


def test_a_plugin_without_options_takes_none():
    assert plugins.make("datasets", "flickr30k", {}, "datasets.flickr30k")
    with pytest.raises(CrossmodalError, match=r"30k\.size: unknown key; allowed here: no key"):
        plugins.make("datasets", "flickr30k", {"size": 3}, "datasets.flickr30k")


METHOD = '''"""Mine."""

from crossmodal.api import Field, Method, Strict


class Mine(Method):
    task = "instance"
    {body}

    def fit(self, train, validation, run):
        pass

    def embed(self, modality, view):
        pass
'''
BROKEN = {
    "import nowhere\n": r"line 1: ModuleNotFoundError: No module named 'nowhere'",
    "def f(:\n": r"line 1: SyntaxError: ",
    METHOD.format(body="class Options(Strict):\n        scale = 1.0"): (
        r"line 8: PydanticUserError: A non-annotated attribute .*scale"
    ),
    METHOD.format(body="def __init__(self, scale):\n        pass"): (
        r"line 6: Mine has an __init__; describe its options in a class `Options"
    ),
    METHOD.format(body="def other(self):\n        pass").replace("def embed", "def embd"): (
        r"line 6: Mine does not define embed"
    ),
    METHOD.format(body="x = 1").replace('"instance"', '"classes"'): (
        r"line 6: Mine has task = 'classes'; allowed: category, instance"
    ),
    METHOD.format(body="x = 1").replace("task =", "tusk ="): r"line 6: Mine has no task; allowed: ",
}


@pytest.mark.parametrize("source", BROKEN)
def test_a_mistake_in_a_plug_in_is_told_with_file_and_line(source, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(source)
    package = importlib.import_module("crossmodal.methods")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "crossmodal.methods.mine", raising=False)
    importlib.invalidate_caches()
    with pytest.raises(plugins.BrokenPluginError, match=rf"mine\.py, {BROKEN[source]}"):
        plugins.load("methods", "mine")
    sys.modules.pop("crossmodal.methods.mine", None)


def test_a_plug_in_that_ends_python_is_named(tmp_path, monkeypatch):
    load = plugins.load

    def ended(kind, name):
        return sys.exit() if name == "sam" else load(kind, name)

    monkeypatch.setattr(plugins, "load", ended)
    params = parse(read_files([PATH]), tmp_path / "checked.json")
    with pytest.raises(CrossmodalError, match=r"sam\.py, line 1: SystemExit: ; correct the plug"):
        params.seeds_of("wikipedia_sam")


WRONG = {
    "class Options:\n        pass": "line 1: AttributeError: .* 'model_fields'",
    "takes = ['image', 'text']": r"Mine has takes = \['image', 'text'\]: Input ",
    "takes = {'image': 'vector'}": "Mine has takes = .*: 'str' instances are not allowed",
    "random = 'no'": "Mine has random = 'no': Input should be a valid boolean",
    "weights = property(lambda self: self.options.file)": "line 8: AttributeError: .* 'file'",
    "class Options(Strict):\n        dims: tuple[int] = (1,)": r"Mine has dims = \[1\]: Input ",
}


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Parses parameters with a method that has a body of its own."""

    def parsed(body):
        (tmp_path / "mine.py").write_text(METHOD.format(body=body))
        package = importlib.import_module("crossmodal.methods")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        monkeypatch.delitem(sys.modules, "crossmodal.methods.mine", raising=False)
        importlib.invalidate_caches()
        return parse(changed("methods/mine", {}))

    yield parsed
    sys.modules.pop("crossmodal.methods.mine", None)


@pytest.mark.parametrize("body", WRONG)
def test_a_plug_in_that_is_no_such_method_is_named_alone(body, mine):
    params = mine(body)
    assert re.search(rf"mine\.py(, |: ){WRONG[body]}", params.broken["methods.mine"])
    assert params.seeds_of("wiki_cca")


def test_a_default_may_be_made_anew_each_time(mine):
    params = mine("class Options(Strict):\n        dims: list[int] = Field(default_factory=list)")
    assert params.plugin("methods", "mine")["options"] == {"dims": []}


@pytest.mark.parametrize(
    ("fact", "value"), [("reads", "items.csv"), ("chunk", 0), ("threads", "a")]
)
def test_a_wrong_fact_of_a_feature_is_told_with_its_file(fact, value, tmp_path, monkeypatch):
    monkeypatch.setattr(FC7, fact, value, raising=False)
    params = parse(read_files([PATH]), tmp_path / "checked.json")
    with pytest.raises(CrossmodalError, match=rf"fc7\.py: FC7 has {fact} = {value!r}: Input "):
        params.seeds_of("scenes_fc7_sh")


def test_a_broken_plug_in_stops_only_what_uses_it(tmp_path, monkeypatch):
    load, reason = plugins.load, "sam.py, line 1: no"

    def broken(kind, name):
        if name == "sam":
            raise plugins.BrokenPluginError(reason)
        return load(kind, name)

    monkeypatch.setattr(plugins, "load", broken)
    content = read_files([PATH])
    found = parse(content, tmp_path / "checked.json")
    assert found.seeds_of("wikipedia_cca") == range(1)
    for ask in (found.seeds_of, found.facts_of):
        with pytest.raises(CrossmodalError, match=reason):
            ask("wikipedia_sam")
    assert not (tmp_path / "checked.json").exists()
    assert "/features/*" in ignored(found)
