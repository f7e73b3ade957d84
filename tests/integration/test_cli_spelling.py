"""All spellings of options that torchrun accepts, and the end of the options."""

import pytest


@pytest.mark.parametrize(
    "words",
    [
        ["--nproc-per-node=2"],
        ["--nproc-per-node", "2"],
        ["--nproc_per_node=2"],
        ["--nproc_per_node", "2"],
        ["--nproc-p=2"],
        ["--nproc", "2"],
        ["--nproc-per-node=5", "--nproc_per_node=2"],
    ],
)
def test_two_workers(dlaunch, words):
    result = dlaunch(*words, "--no-python", "sh", "-c", "echo one")
    assert (result.rc, result.out) == (0, "one\none\n")


def test_words_after_the_program_are_its_own(dlaunch):
    words = ["--nproc-per-node=7", "-r", "3", "--help", "--", "", "a b", "--no-such-option"]
    result = dlaunch("printf", "[%s]", *words)
    assert (result.rc, result.out) == (0, "".join(f"[{word}]" for word in words))


def test_a_double_dash_ends_the_options(dlaunch):
    result = dlaunch("--no-python", "--", "printf", "[%s]", "--", "-r")
    assert (result.rc, result.out) == (0, "[--][-r]")


def test_switches_may_stand_together(dlaunch, tmp_path):
    (tmp_path / "hello.py").write_text("print('hello')")
    result = dlaunch("-mqr0", "hello", cwd=tmp_path)
    assert (result.rc, result.out) == (0, "hello\n")


def test_a_switch_of_the_environment_can_be_disabled(dlaunch):
    result = dlaunch("--module=0", "echo", "plain", env={"PET_MODULE": "1"})
    assert (result.rc, result.out) == (0, "plain\n")
