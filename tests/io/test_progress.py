import io

import pytest

from crossmodal.io import progress


class Clock:
    """Stands in for the module `time`; the test moves it."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def walk(clock, seconds, total, done=0):
    """Steps that take the given seconds each."""
    for second in progress.track(seconds, total, "extract", done):
        clock.now += second


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_steps_come_one_by_one_and_in_order(monkeypatch, stream):
    monkeypatch.setattr("sys.stderr", stream())
    taken = []
    steps = (taken.append(step) or step for step in "abc")
    for count, step in enumerate(progress.track(steps, 3, "extract"), 1):
        assert taken == list("abc")[:count]
        assert step == taken[-1]
    assert taken == list("abc")


def test_a_log_gets_a_line_every_ten_seconds_and_one_at_the_end(clock, capsys):
    walk(clock, [4.0] * 7, 7)
    assert capsys.readouterr().err.splitlines() == [
        "extract: 3/7, 0.25/s, 0:00:16 left",
        "extract: 6/7, 0.25/s, 0:00:04 left",
        "extract: 7/7, 0.25/s, 0:00:00 left",
    ]


def test_earlier_progress_counts_as_done_but_not_for_speed(clock, capsys):
    walk(clock, [10.0] * 2, 8, done=5)
    assert capsys.readouterr().err.splitlines() == [
        "extract: 6/8, 0.10/s, 0:00:20 left",
        "extract: 7/8, 0.10/s, 0:00:10 left",
    ]


def test_a_log_of_quick_steps_has_one_line(clock, capsys):
    walk(clock, [0.001] * 1000, 1000)
    assert capsys.readouterr().err == "extract: 1000/1000, 1000/s, 0:00:00 left\n"


def test_nothing_left_to_do_says_nothing(clock, capsys):
    walk(clock, [], 5, done=5)
    assert capsys.readouterr().err == ""


def test_nothing_is_written_to_stdout(clock, capsys):
    walk(clock, [20.0] * 2, 2)
    assert capsys.readouterr().out == ""


def test_a_terminal_gets_a_bar_with_the_count(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    list(progress.track("abc", 5, "extract toy", done=2))
    assert "extract toy" in terminal.getvalue()
    assert "5/5" in terminal.getvalue()


def walk_bytes(clock, sizes, total, done=0):
    """Chunks of the given sizes, one in 10 seconds."""
    for _ in progress.track(map(bytes, sizes), total, "download", done, progress.BYTES):
        clock.now += 10.0


def test_a_log_counts_bytes(clock, capsys):
    walk_bytes(clock, [500, 1500, 1000], 4000, done=1000)
    assert capsys.readouterr().err.splitlines() == [
        "download: 1.5 kB/4.0 kB, 50 bytes/s, 0:00:50 left",
        "download: 3.0 kB/4.0 kB, 100 bytes/s, 0:00:10 left",
        "download: 4.0 kB/4.0 kB, 100 bytes/s, 0:00:00 left",
    ]


def test_bytes_of_an_unknown_total_have_a_rate_but_no_time_left(clock, capsys):
    walk_bytes(clock, [500, 1500], None)
    assert capsys.readouterr().err.splitlines() == [
        "download: 500 bytes, 50 bytes/s",
        "download: 2.0 kB, 100 bytes/s",
    ]


@pytest.mark.parametrize(("total", "shown"), [(4000, "3.0/4.0 kB"), (None, "3.0/? kB")])
def test_a_terminal_gets_a_bar_with_the_bytes(monkeypatch, total, shown):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    list(progress.track([bytes(2000)], total, "download toy", 1000, progress.BYTES))
    assert shown in terminal.getvalue()
