import os
import subprocess
from pathlib import Path

import pytest

from crossmodal.datasets._unread import COMMAND, listed, reason
from crossmodal.io.suffixes import SUFFIXES

NAMES = ["-a b.m4a", "quo'te $x.M4A", "sub/new\nline.m4a"]


@pytest.mark.parametrize("folder", ["sounds", "-s o'u", "."])
def test_the_command_converts_files_of_any_name(tmp_path, folder):
    for name in NAMES:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    program = tmp_path / "ffmpeg"
    program.write_text('#!/bin/sh\ntest "$1 $2" = "-nostdin -i" && cp -- "$3" "$4"\n')
    program.chmod(0o755)
    command = reason(Path(folder), Path(NAMES[0])).partition("convert them: ")[2]
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(command, shell=True, check=True, cwd=tmp_path, env={"PATH": path})
    expected = [(tmp_path / folder / name).with_suffix(".wav") for name in NAMES]
    assert all(path.exists() for path in expected)


def test_no_kind_is_read_and_converted():
    assert not {*COMMAND} & {suffix for suffixes in SUFFIXES.values() for suffix in suffixes}


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        *(("a.AAC", "ffmpeg"), ("a.mov", "ffmpeg"), ("a.psd", "magick"), ("a.docx", "pandoc")),
        *(
            ("a.pdf", "pdftotext"),
            ("a.xlsx", "such a file itself"),
            ("a.csv", "such a file itself"),
            ("data-00000-of-00001.arrow", "Parquet"),
        ),
    ],
)
def test_files_that_could_belong_have_advice(name, advice):
    assert advice in reason(Path("x"), Path(name)).partition("; ")[2]


def test_reasons_have_a_count_and_two_examples():
    left_out = {
        "of a kind; do this": [Path("a"), Path("b/c"), Path("d")],
        "none": [],
        "odd": [Path("e\x1b")],
    }
    assert listed(left_out) == [
        "3 of a kind, such as 'a', 'b/c'; do this",
        "1 odd, such as 'e\\x1b'",
    ]
