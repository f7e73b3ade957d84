"""A progress bar is an unfinished line for hours; it still appears in pipes and files, and no line is split."""

import pytest

from processes import until

BAR = r"""[ $RANK = 1 ] && { await 1.go; echo another; exit; }
for n in 10 20; do printf "\r$n%%" >&2; await $n.go; done
printf ' and over\n' >&2
"""


@pytest.mark.parametrize("options", [[], ["-t", "3", "--timestamps"]], ids=" ".join)
def test_its_states_are_shown(job, tmp_path, options):
    run = job(BAR, f"--log-dir={tmp_path}/logs", *options)
    for n in (10, 20):
        until(lambda: f"{n}%" in run.err(), 10, f"the state {n} %")
        run.go(f"{n}.go")
    run.go("1.go")
    result = run.wait(10)
    assert result.rc == 0 and result.err.endswith("20% and over\n")
    if options:
        assert (tmp_path / "logs/latest/attempt_0/0/stderr.log").read_bytes() == b"\r10%\r20% and over\n"


def test_a_line_between_two_states_stays_whole(job, tmp_path):
    out = tmp_path / "both"
    with out.open("wb") as file:
        run = job(BAR, "-t", "3", f"--log-dir={tmp_path}/logs", stdout=file, stderr=file)
        until(lambda: "10%" in out.read_text(), 10, "the first state")
        run.go("1.go")
        until(lambda: "another" in out.read_text(), 10, "the other rank's line")
        for n in (10, 20):
            run.go(f"{n}.go")
        assert run.wait(10).rc == 0
    lines = out.read_bytes().decode().split("\n")
    assert lines[:2] == ["[default0]:10%", "[default1]:another"]
    assert lines[2].startswith("[default0]:10%\r") and lines[2].endswith("20% and over") and lines[3:] == [""]


def test_states_that_ranks_share_are_folded(job):
    text = 'note $RANK.here; await 0.here; await 1.here\nprintf "\\r10%%\\r20%%"\nuntil grep -q 10% $SEEN/../0.out; do sleep 0.01; done\necho\n'
    result = job(text, "-t", "1", "--fold").wait(10)
    assert result.rc == 0 and result.out == "[default0-1]:10%\n[default0-1]:20%\n"
