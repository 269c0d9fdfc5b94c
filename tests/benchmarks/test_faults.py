"""What the campaign of faults counts."""

from benchmarks.faults import Count, strike, table


def struck(outcomes, times):
    """The count after faults with these outcomes."""
    count, left = Count(), iter(outcomes)
    strike(count, lambda: next(left), times, save=lambda: None)
    return count


def test_faults_that_missed_do_not_count():
    assert struck([None, "", None, ""], times=2) == Count(2, 2)


def test_after_too_many_misses_there_are_fewer():
    assert struck([None] * 6, times=1) == Count()


def test_the_first_difference_is_noted():
    assert struck(["", "a.csv", "b.csv"], times=3) == Count(3, 1, "a.csv")


def test_what_the_system_does_not_permit_is_left_out():
    def refuse():
        raise PermissionError("Operation not permitted")

    count = Count()
    strike(count, refuse, times=3, save=lambda: None)
    assert count == Count(note="left out: Operation not permitted")


def test_fault_table_rows_follow_the_campaign():
    rows = table({"twice_train": Count(5, 5), "kill_train": Count(2, 1, "a\nb")}).splitlines()
    assert rows[2:] == [
        "| SIGKILL at a random moment | train | 2 | 1 | a b |",
        "| The same job in two processes at once | train | 5 | 5 |  |",
    ]
