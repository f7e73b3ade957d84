"""--rotate SIZE[:KEEP]: rotates log files at line ends; no line is lost between the kept files."""

WRITE = "for n in range(1000): os.write(1, b'%06d a line of exactly thirty-two b\\n' % n)\n"


def test_files_are_kept_up_to_a_number(dlaunch, python_worker, tmp_path):
    assert (
        dlaunch("-r", "1", "--rotate=4K:2", f"--log-dir={tmp_path}/logs", "--no-python", python_worker(WRITE)).rc == 0
    )
    folder = tmp_path / "logs/latest/attempt_0/0"
    assert sorted(path.name for path in folder.glob("stdout.log*")) == ["stdout.log", "stdout.log.1", "stdout.log.2"]
    numbers = []
    for name in ("stdout.log.2", "stdout.log.1", "stdout.log"):
        text = (folder / name).read_text()
        assert text.endswith("\n") and len(text) < 9000
        numbers += [int(line.split()[0]) for line in text.splitlines()]
    assert numbers == list(range(numbers[0], 1000)) and len(numbers) > 100


def test_no_line_is_lost_while_enough_files_are_kept(dlaunch, python_worker, tmp_path):
    assert (
        dlaunch("-t", "1", "--rotate=4K:50", f"--log-dir={tmp_path}/logs", "--no-python", python_worker(WRITE)).rc == 0
    )
    files = sorted(
        (tmp_path / "logs/latest/attempt_0/0").glob("stdout.log*"),
        key=lambda path: -int((path.suffix[1:] + "0")[:-1] or 0 if path.suffix != ".log" else 0),
    )
    assert len(files) > 4
    assert [int(line.split()[0]) for path in files for line in path.read_text().splitlines()] == list(range(1000))


def test_an_invalid_size_is_refused(dlaunch):
    result = dlaunch("--rotate=much", "--no-python", "true")
    assert result.rc == 2 and "--rotate=much" in result.first_line
