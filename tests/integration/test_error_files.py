"""The report quotes a worker's TORCHELASTIC_ERROR_FILE, in all of torch's formats, and dlaunch's own error file gets it."""

import json

import pytest

STACK = "Traceback (most recent call last):\n  in frobnicate\nValueError: it broke"
FORMS = {
    "nested": {
        "message": {"message": "ValueError: it broke", "extraInfo": {"py_callstack": STACK, "timestamp": "1700000000"}}
    },
    "a number as time": {
        "message": {"message": "it broke", "extraInfo": {"py_callstack": STACK, "timestamp": 1700000000}}
    },
    "no stack": {"message": {"message": "it broke", "extraInfo": {"timestamp": "1"}}},
    "no extra": {"message": {"message": "it broke"}},
    "text": {"message": "it broke", "timestamp": 1700000000},
    "only text": {"message": "it broke"},
    "odd text": {"message": 'it broke: "quoted" \\ 100% ${rank} $x {y} grün 漢字'},
}
BROKEN = [
    "",
    "{",
    "[]",
    "7",
    "null",
    '{"no": "message"}',
    '{"message": null}',
    '{"message": {"extraInfo": {}}}',
    '{"message": 7}',
    b"\xff\xfe\x00",
    b"[" * 200_000,
]


@pytest.fixture
def fails(job, tmp_path):
    """fails(bytes of the error file) -> Result of a job; rank 1 writes the file and exits with 37."""

    def fails_(content, **more):
        (tmp_path / "error.json").write_bytes(content)
        return job(
            '[ $RANK = 1 ] || exec sleep $TEST_RUN_MARK\ncp "$FROM" "$TORCHELASTIC_ERROR_FILE"\nexit 37\n',
            **{**more, "env": {"FROM": tmp_path / "error.json", **more.get("env", {})}},
        ).wait()

    return fails_


@pytest.mark.parametrize("form", FORMS)
def test_the_report_quotes_it(fails, form):
    result = fails(json.dumps(FORMS[form], ensure_ascii=form != "odd text").encode())
    message = FORMS[form]["message"]
    for line in (message if isinstance(message, str) else message["message"]).splitlines():
        assert line in result.err
    assert (
        result.rc == 37
        and "rank 1" in result.first_line
        and ("frobnicate" in result.err) == ("frobnicate" in json.dumps(message))
    )


@pytest.mark.parametrize("content", BROKEN, ids=lambda content: repr(content[:20]))
def test_a_broken_error_file_does_not_hide_the_failure(fails, content):
    result = fails(content.encode() if isinstance(content, str) else content)
    assert result.rc == 37 and "rank 1" in result.first_line and "37" in result.first_line


@pytest.mark.parametrize("form,code", [("nested", 37), ("text", None)])
def test_it_is_copied_to_dlaunchs_own_error_file(fails, tmp_path, form, code):
    fails(json.dumps(FORMS[form]).encode(), env={"TORCHELASTIC_ERROR_FILE": tmp_path / "mine.json"})
    mine = json.loads((tmp_path / "mine.json").read_text())
    if code is None:
        assert mine["message"] == FORMS[form]["message"]
    else:
        assert mine["message"]["errorCode"] == code and mine["message"]["extraInfo"]["py_callstack"] == STACK


def test_dlaunchs_own_error_file_has_the_cause_without_a_workers(job, tmp_path):
    job("exit 3\n", workers=1, env={"TORCHELASTIC_ERROR_FILE": tmp_path / "mine.json"}).wait()
    assert "rank 0" in (tmp_path / "mine.json").read_text()


def test_a_successful_job_writes_no_error_file(job, tmp_path):
    assert job("exit 0\n", env={"TORCHELASTIC_ERROR_FILE": tmp_path / "mine.json"}).wait().rc == 0
    assert not (tmp_path / "mine.json").exists()


@pytest.mark.parametrize("content", ["{\"message\":{\"message\":\"caf\\351\"}}", "{cut", "\\000\\001"])
def test_an_invalid_error_file_is_reported(job, tmp_path, content):
    run = job(f"printf '{content}' > $TORCHELASTIC_ERROR_FILE\nexit 7\n", f"--report={tmp_path}/report.json", workers=1)
    result = run.wait()
    assert result.rc == 7 and "error file" in result.err and "@record" not in result.err
    assert "error file" in json.loads((tmp_path / "report.json").read_text())["failures"][0]["record"]["message"]


def test_of_a_relative_temporary_folder(job, tmp_path):
    (tmp_path / "relative").mkdir()
    text = "cd /\nprintf '{\"message\":\"it broke\"}' > $TORCHELASTIC_ERROR_FILE\nexit 7\n"
    assert "it broke" in job(text, workers=1, env={"TMPDIR": "relative"}).wait().err
