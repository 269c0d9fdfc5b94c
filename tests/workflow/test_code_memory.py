import json
from unittest.mock import Mock

import pytest

from crossmodal.config import plugin_files
from crossmodal.workflow import code_hash
from tests.workflow.test_code_hash import forget


@pytest.fixture
def memory(tmp_path):
    return tmp_path / "read.json"


@pytest.fixture
def code(memory, monkeypatch):
    """Hash of a job's code as a new process finds it, and how many modules are parsed for it."""

    def count(module):
        forget()
        code_hash.MEMORY.opened(memory)
        parse = Mock(wraps=code_hash.ast.parse)
        with monkeypatch.context() as patch:
            patch.setattr(code_hash.ast, "parse", parse)
            digest = code_hash.code(module)
        code_hash.MEMORY.keep()
        return digest, parse.call_count

    yield count
    forget()


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Source of a module outside of the package."""
    path = tmp_path / "method.py"
    path.write_text("import crossmodal.steps.embed\nx = 1\n")
    sources = plugin_files.sources() | {"method": path}
    monkeypatch.setattr(plugin_files, "sources", lambda: sources)
    return path


def test_what_was_read_is_not_parsed_again(code):
    digest, parsed = code("crossmodal.steps.train")
    assert parsed > 10
    assert code("crossmodal.steps.train") == (digest, 0)
    assert code("crossmodal.steps.extract")[1] < parsed


def test_a_changed_module_alone_is_parsed(code, plugin):
    digest, _ = code("method")
    plugin.write_text("import crossmodal.steps.embed\n# a comment\nx = 1\n")
    assert code("method") == (digest, 1)
    plugin.write_text("import crossmodal.steps.embed\nx = 2\n")
    changed, parsed = code("method")
    assert (changed != digest, parsed) == (True, 1)
    plugin.write_text("x = 2\n")
    assert code("method")[0] not in (digest, changed)


@pytest.mark.parametrize("content", ["", "[1]", '{"a": 1}', '{"a": {"of": 1}}', "\udcff"])
def test_a_damaged_file_is_written_anew(code, memory, content):
    digest, parsed = code("crossmodal.steps.train")
    memory.write_text(content, errors="surrogateescape")
    assert code("crossmodal.steps.train") == (digest, parsed)
    assert "crossmodal.steps.train" in json.loads(memory.read_text())


def test_another_reader_reads_all_again(code, monkeypatch):
    digest, parsed = code("crossmodal.steps.train")
    monkeypatch.setattr(code_hash, "READER", b"another Python")
    assert code("crossmodal.steps.train") == (digest, parsed)


def test_a_folder_that_cannot_be_written_is_no_error(code, memory):
    memory.mkdir()
    assert code("crossmodal.steps.train")[1] > 10
