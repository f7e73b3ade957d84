"""A worker killed by signal n: status 128 + n, and the report has the signal's name."""

import signal

import pytest

HARMLESS = {
    signal.SIGCHLD,
    signal.SIGCONT,
    signal.SIGSTOP,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGURG,
    signal.SIGWINCH,
}
DEADLY = [n for n in range(1, 65) if n not in HARMLESS and n not in (32, 33)]  # reserved by the C library
NAMES = {signal.SIGIO: ("SIGIO", "SIGPOLL"), signal.SIGABRT: ("SIGABRT", "SIGIOT")}


def names(number):
    if number > signal.SIGRTMIN:
        return (f"SIGRTMIN+{number - signal.SIGRTMIN}",)
    return NAMES.get(number, (signal.Signals(number).name,))


def test_the_list_is_complete():
    assert len(DEADLY) == 64 - 8 - 2


@pytest.mark.parametrize("some", [DEADLY[n::4] for n in range(4)], ids=str)
def test_status_and_name(start, some):
    runs = {n: start("--no-python", "sh", "-c", f"ulimit -c 0; kill -{n} $$") for n in some}
    for number, run in runs.items():
        result = run.wait()
        assert result.rc == 128 + number, result.err
        assert any(name in result.first_line for name in names(number)), result.first_line
        assert "rank 0" in result.first_line


@pytest.mark.parametrize(
    "number", [n for n in sorted(HARMLESS) if n not in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)]
)
def test_a_harmless_signal_is_no_end(dlaunch, number):
    assert dlaunch("--no-python", "sh", "-c", f"kill -{int(number)} $$; exit 0").rc == 0
