"""$local_rank and ${local_rank} are replaced in the program's arguments; every other byte is unchanged."""


def test_both_spellings(dlaunch):
    result = dlaunch(
        "--nproc-per-node=2", "--no-python", "printf", "%s|", "a${local_rank}b", "$local_rank", "/d/$local_rank/x"
    )
    assert sorted(result.out.replace("\n", "").split("|")) == sorted(["", "a0b", "0", "/d/0/x", "a1b", "1", "/d/1/x"])


def test_all_else_stays(dlaunch):
    words = ["$local_ranks", "${local_rank", "${other}", "$", "$$", "$1", "%s", "--", "-r", "", "ü", "${LOCAL_RANK}"]
    assert dlaunch("--no-python", "printf", "%s\\n", *words).out.split("\n") == [*words, ""]


def test_bytes_that_are_no_text(dlaunch):
    assert dlaunch("--no-python", "printf", "%s", b"\xff\xfe.").raw_out == b"\xff\xfe."
