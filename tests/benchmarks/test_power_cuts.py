"""What the simulated power cut leaves."""

import os
import random

import pytest

from benchmarks.power_cuts import Disk
from crossmodal.io.files import write_text

CUTS = 30


@pytest.fixture
def left_of(tmp_path, monkeypatch):
    """Contents of `new` after each of many power cuts behind a writer; None where it is absent."""
    random.seed(0)

    def left_of(write):
        found = set()
        for number in range(CUTS):
            folder = tmp_path / str(number) / "disk"
            folder.mkdir(parents=True)
            (folder / "old").write_text("old")
            with monkeypatch.context() as patch:
                patch.setattr(os, "fsync", os.fsync)  # is put back
                disk = Disk(folder)
                disk.watch()
                write(folder)
            disk.cut_power()
            new = folder / "in/new"
            found.add(new.read_text() if new.exists() else None)
            assert (folder / "old").read_text() == "old"
        return found

    return left_of


def test_a_synced_file_in_a_synced_folder_is_whole(left_of):
    assert left_of(lambda folder: write_text(folder / "in/new", "content")) == {"content"}


def test_a_file_that_was_not_synced_is_damaged_in_all_ways(left_of):
    def write(folder):
        (folder / "in").mkdir()
        (folder / "in/new").write_text("content")

    found = left_of(write)
    assert {None, "", "content", "\0" * 7} < found
    assert any(text and "content".startswith(text) for text in found - {"content"})


def test_a_name_that_was_not_synced_may_be_lost(left_of):
    def write(folder):
        write_text(folder / "in/synced", "content")
        (folder / "in/synced").rename(folder / "in/new")

    assert left_of(write) == {None, "content"}


def test_an_overwritten_file_may_hold_what_was_synced_before(left_of):
    def write(folder):
        write_text(folder / "in/new", "before")
        (folder / "in/new").write_text("behind")

    assert {"before", "behind", ""} <= left_of(write)
