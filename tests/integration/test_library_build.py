"""The built library from outside: its symbols, and a plug-in of another build."""

import re
import shutil
import subprocess
import sys

import pytest

from conftest import BINARY

LIBRARY = BINARY.parent.parent / "lib/libdlaunch.so"
USE = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).dlaunch_print_backends()"


@pytest.mark.skipif(not shutil.which("readelf"), reason="not installed: readelf")
def test_every_symbol_has_the_version():
    listed = subprocess.run(["readelf", "--wide", "--dyn-syms", LIBRARY], check=True, capture_output=True, text=True, timeout=60).stdout
    ours = [words[7] for words in map(str.split, listed.splitlines()) if len(words) > 7 and words[4] in ("GLOBAL", "WEAK") and words[6] != "UND"]
    functions = [name for name in ours if name != "DLAUNCH_0.1"]
    assert len(functions) > 100 and all(name.endswith("@@DLAUNCH_0.1") for name in functions), [name for name in functions if "@@" not in name]
    assert not [name for name in functions if re.search("6worker|6detail", name) and "C1E" not in name and name.startswith("_ZN7dlaunch6worker")]


@pytest.mark.skipif(not shutil.which("cc"), reason="not installed: cc")
@pytest.mark.parametrize("source, build", [
    ('const char* dlaunch_gloo_build_id(void) { return "0.0.9 other"; } void dlaunch_make_gloo_backend(void) {}', "0.0.9 other"),
    ("void dlaunch_make_gloo_backend(void) {}", "before 0.1.0"),
])
def test_a_plug_in_of_another_build_is_one_line(tmp_path, source, build):
    copy = shutil.copy(LIBRARY, tmp_path)
    (tmp_path / "plugin.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "plugin.c", "-o", tmp_path / "libdlaunch-gloo.so"], check=True, timeout=60)
    printed = subprocess.run([sys.executable, "-c", USE, copy], check=True, capture_output=True, text=True, timeout=60).stdout
    (line,) = [line for line in printed.splitlines() if line.startswith("gloo  cannot")]
    plugin = re.escape(str(tmp_path / "libdlaunch-gloo.so"))
    assert re.search(rf"{plugin} is of build {build}, and libdlaunch of build \d+\.\d+\.\d+ [0-9a-f]{{16}}: install both from one build$", line), line
