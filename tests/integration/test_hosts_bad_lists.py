"""dlaunch hosts refuses a bad list in one line that names the wrong item or range, with status 2."""

import pytest


def refused(dlaunch, *words):
    result = dlaunch("hosts", *words)
    assert result.rc == 2 and result.out == ""
    (line,) = result.err.splitlines()
    assert line.startswith("dlaunch: hosts: ") and "expected" in line
    return line


@pytest.mark.parametrize("range_", ["3-1", "0x1", "1:3", "0-10/2", "1-", "-3", "1-2-3", "a-c"])
def test_a_bad_range_is_named(dlaunch, range_):
    line = refused(dlaunch, f"ok[1-20],n[{range_}],k[1-9]")
    assert f"n[{range_}]: range {range_}, " in line and "ok[1-20]" not in line and "k[1-9]" not in line


@pytest.mark.parametrize("item", ["n[1", "n1]", "n[[1-2]]", "n]1[", "n[]", "a:0", "a:x", "a:2:3", "@a", "-x,a", "a b", "n[0-999999999999]"])
def test_a_bad_item_is_named(dlaunch, item):
    assert item.split(",", 1)[0] in refused(dlaunch, "ok," + item)


@pytest.mark.parametrize("words", [[], [""], [","], ["n1,,n2"], ["--compress"], ["--compres", "n1"], ["a\nb"]])
def test_no_names_and_unknown_options(dlaunch, words):
    refused(dlaunch, *words)
