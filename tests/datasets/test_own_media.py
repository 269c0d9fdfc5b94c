import os
import unicodedata
from pathlib import Path

import pytest

from tests.datasets.own_data import ROWS, make_folder, picture, run, write


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A project with a folder of images, recordings and a CSV."""
    monkeypatch.chdir(tmp_path)
    return make_folder()


def with_picture(path):
    """The three items, of which the sea's picture is at a path."""
    rows = [list(row) for row in ROWS]
    rows[2][1] = str(path)
    write(rows)


@pytest.fixture
def elsewhere(folder, tmp_path):
    """The sea's picture, moved out of the project."""
    outside = tmp_path.parent / f"{tmp_path.name} elsewhere"
    outside.mkdir()
    return (folder / "photos/sea.png").rename(outside / "sea.png")


def assert_read(path):
    """The sea's picture was prepared from a path."""
    assert run().read("images/sea.png") == Path(path).read_bytes()


@pytest.mark.parametrize(
    "name", ["photos/sea.png", r"photos\sea.png", "./photos/../photos/sea.png"]
)
def test_paths_lead_from_the_folder_of_the_csv(folder, name):
    with_picture(name)
    assert_read(folder / "photos/sea.png")


def test_paths_may_be_absolute_or_lead_out_of_the_folder(elsewhere):
    for path in (elsewhere, f"../../{elsewhere.parent.name}/sea.png"):
        with_picture(path)
        assert_read(elsewhere)


def test_links_to_files_and_folders_are_followed(folder, elsewhere):
    (folder / "photos/sea.png").symlink_to(elsewhere)
    (folder / "far").symlink_to(elsewhere.parent, target_is_directory=True)
    (folder / "link.png").symlink_to("photos/sea.png")
    for name in ("photos/sea.png", "far/sea.png", "link.png"):
        with_picture(name)
        assert_read(elsewhere)


def test_a_link_that_leads_nowhere_names_its_target(folder, elsewhere, failure):
    elsewhere.rename(elsewhere.with_name("gone.png"))
    (folder / "photos/sea.png").symlink_to(elsewhere)
    assert f"photos/sea.png: is a link to {elsewhere}, which is not there" in failure(run)


@pytest.mark.parametrize("target", ["/dev/zero", "pipe"])
def test_devices_and_pipes_are_refused_unopened(folder, failure, target):
    os.mkfifo(folder / "pipe")
    (folder / "photos/sea.png").unlink()
    (folder / "photos/sea.png").symlink_to(folder / target)
    assert "row 4, column 'image': mine/photos/sea.png: is a device or a pipe" in failure(run)


@pytest.mark.parametrize(
    "name", ["https://example.org/sea.png", "S3://sea/sea.png", "data:image/png;base64,AAAA" * 99]
)
def test_addresses_are_refused(failure, name):
    with_picture(name)
    assert "row 4, column 'image': " in failure(run)
    assert "is an address; download the file, and give its path" in failure(run)


def test_a_name_that_is_too_long_is_refused(failure):
    with_picture("sea" * 99)
    assert "row 4, column 'image': " in failure(run)


@pytest.mark.parametrize(("of_csv", "of_folder", "of_file"), ["CCD", "CDC", "DCC", "DDC", "CDD"])
def test_both_unicode_forms_of_a_name_meet(folder, of_csv, of_folder, of_file):
    forms = (unicodedata.normalize(f"NF{form}", "Å é") for form in (of_csv, of_folder, of_file))
    in_csv, in_folder, in_file = forms
    (folder / in_folder).mkdir()
    picture(9).save(folder / in_folder / f"{in_file}.png")
    with_picture(f"{in_csv}/{in_csv}.png")
    assert_read(folder / in_folder / f"{in_file}.png")


def test_the_exact_name_comes_before_its_other_form(folder):
    for seed, form in enumerate(("NFC", "NFD")):
        picture(seed + 5).save(folder / unicodedata.normalize(form, "é.png"))
    for form in ("NFC", "NFD"):
        name = unicodedata.normalize(form, "é.png")
        with_picture(name)
        assert_read(folder / name)


@pytest.mark.parametrize("suffix", ["", ".", ".jpg?w=200", ".дом", ".a b"])
def test_a_file_may_have_any_suffix(folder, suffix):
    (folder / "photos/sea.png").rename(folder / f"sea{suffix}")
    with_picture(f"sea{suffix}")
    dataset = run()
    (image,) = (item.image for item in dataset.items if item.id == "sea")
    assert image == "images/sea"
    assert dataset.read(image) == (folder / f"sea{suffix}").read_bytes()


@pytest.mark.parametrize("absolute", [False, True])
def test_the_root_of_paths_may_be_another_folder(folder, tmp_path, absolute):
    (tmp_path / "tables").mkdir()
    (folder / "items.csv").rename("tables/items.csv")
    folder.chmod(0o500)
    dataset = run(csv="tables/items.csv", root=str(folder) if absolute else "mine")
    folder.chmod(0o700)
    assert dataset.read("images/sea.png") == (folder / "photos/sea.png").read_bytes()


def test_a_root_that_is_no_folder_is_named(failure):
    assert "mine/items.csv: far, in which its files are looked up" in failure(run, root="far")
