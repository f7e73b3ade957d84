"""--nproc-per-node, --virtual-local-rank and --include on nodes with devices of several vendors.

A mount namespace shows files of a test at /sys/class and /dev; this machine's stay as they are.
"""

import pytest

NODE = """
set -e
mount -t tmpfs tmpfs "$0/dev"
for name in null zero full random urandom tty; do cp -a /dev/$name "$0/dev"; done
mkdir "$0/dev/shm" "$0/dev/dri" "$0/dev/accel"
for name in $DEVICES; do : > "$0/dev/$name"; done
mount --bind "$0/dev" /dev
mount --bind "$0/class" /sys/class
exec "$@"
"""
PRINT = ("--no-python", "sh", "-c", 'echo "$LOCAL_RANK $HIP_VISIBLE_DEVICES/$CUDA_VISIBLE_DEVICES/$ZE_AFFINITY_MASK/'
         '$HABANA_VISIBLE_MODULES/$ASCEND_RT_VISIBLE_DEVICES"')
FILES = {
    "amd": {f"kfd/kfd/topology/nodes/{n}/properties": f"simd_count {304 * (n > 0)}\ndrm_render_minor {127 + n}\n"
            for n in range(4)},
    "habana": {f"accel/accel{n}/device/{name}": text for n in range(2)
               for name, text in (("vendor", "0x1da3\n"), ("module_id", f"{n + 4}\n"))},
    "ascend": {},
}  # fmt: skip
DEVICES = {
    "amd": "kfd dri/renderD128 dri/renderD129 dri/renderD130",
    "habana": "accel/accel0 accel/accel1",
    "ascend": "davinci0 davinci1 davinci10 davinci_manager",
}

pytestmark = [pytest.mark.root, pytest.mark.needs("unshare", "mount")]


@pytest.fixture
def lines(dlaunch, tmp_path):
    """The lines that workers print on a node with a vendor's devices."""

    def run(vendor, *arguments, env=None):
        (tmp_path / "dev").mkdir()
        (tmp_path / "class").mkdir()
        for name, text in FILES[vendor].items():
            file = tmp_path / "class" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        prefix = ("unshare", "--mount", "sh", "-c", NODE, str(tmp_path))
        result = dlaunch(*arguments, *PRINT, prefix=prefix, env={"DEVICES": DEVICES[vendor], **(env or {})})
        assert result.rc == 0, result.err
        return sorted(result.out.splitlines())

    return run


@pytest.mark.parametrize("vendor, word", [("amd", "gpu"), ("amd", "auto"), ("ascend", "npu"), ("ascend", "auto")])
def test_a_worker_per_device(lines, vendor, word):
    assert lines(vendor, f"--nproc-per-node={word}") == ["0 ////", "1 ////", "2 ////"]


def test_the_nodes_variable_limits_the_number(lines):
    assert len(lines("habana", "--nproc-per-node=hpu", env={"HABANA_VISIBLE_MODULES": "5"})) == 1


def test_virtual_local_ranks_of_amd(lines):
    seen = lines("amd", "--nproc-per-node=gpu", "--virtual-local-rank", env={"HIP_VISIBLE_DEVICES": "2,0"})
    assert seen == ["0 0/0///", "0 2/2///"]


def test_virtual_local_ranks_of_habana(lines):
    assert lines("habana", "--nproc-per-node=2", "--virtual-local-rank") == ["0 ///4/", "0 ///5/"], "places in the machine"


def test_chosen_slots_of_a_host(lines):
    seen = lines("habana", "--launcher=fork", "--hosts=a:8", "--include=a:1,6", "--nproc-per-node=2")
    assert seen == ["0 ///1,6/", "1 ///1,6/"]
