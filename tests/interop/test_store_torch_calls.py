"""Every call of torch's TCPStore client on dlaunch's server, with torch 1.13 and with a current torch."""

import contextlib
import functools

import pytest

from store import Interpreter, serving
from torch_python import PYTHONS, current

CONNECT = """
import threading, time
from datetime import timedelta
from torch.distributed import PrefixStore, TCPStore

def connect():
    return TCPStore("127.0.0.1", port, None, False, timedelta(seconds=30), wait_for_workers=False)

def raised(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:
        return str(error)

store = connect()
"""


@pytest.fixture(scope="module")
def interpreter():
    """interpreter(python) -> Interpreter, one per program."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda python: stack.enter_context(Interpreter(python)))


@pytest.fixture(params=PYTHONS)
def either(request, binary, interpreter):
    """either(script) -> the script's result, for each torch."""
    client = interpreter(request.param())
    with serving(binary) as server:
        yield lambda script: client.answer(CONNECT + script, server)


@pytest.fixture
def newest(binary, interpreter):
    client = interpreter(current())
    with serving(binary) as server:
        yield lambda script: client.answer(CONNECT + script, server)


def test_set_get_add_delete_and_count(either):
    got = either("""
store.set("a", "one")
store.set("b", bytes(range(256)))
counts = [store.add("n", 5), store.add("n", -7), store.num_keys(), store.delete_key("a"), store.delete_key("a"), store.num_keys()]
reply([counts, [store.get("b") == bytes(range(256)), store.get("n")]])
""")
    assert got == [[5, -2, 3, True, False, 2], [True, "-2"]]


def test_compare_set(either):
    got = either("""
pairs = [("guess", "a"), ("", "b"), ("wrong", "c"), ("b", "d")]
reply([store.compare_set("k", *pair) for pair in pairs] + [store.get("k")])
""")
    assert got == ["guess", "b", "b", "d", "d"]


def test_one_client_wakes_another(either):
    got = either("""
other = connect()
thread = threading.Thread(target=lambda: (other.wait(["go"]), other.set("back", "here")))
thread.start()
store.set("go", "")
value = store.get("back")
thread.join()
reply(value)
""")
    assert got == "here"


def test_a_large_value_and_prefixes(either):
    got = either("""
view = PrefixStore("round 1", PrefixStore("job", store))
view.set("big", b"x" * (5 << 20))
reply([len(view.get("big")), len(store.get("job/round 1/big"))])
""")
    assert got == [5 << 20, 5 << 20]


def test_members_of_a_known_world_join(either):
    got = either("""
members = [TCPStore("127.0.0.1", port, 3, False, timedelta(seconds=30)) for _ in range(3)]
reply(store.num_keys())
""")
    assert got == 1  # init/


def test_a_wait_with_a_time_out_leaves_the_client_usable(newest):
    got = newest("""
other = connect()
texts = [raised(store.wait, ["a", "b"], timedelta(milliseconds=100)) for _ in range(3)]
other.set("a", "1")
other.set("b", "2")
other.get("b")
store.set("c", "3")
reply([len([text for text in texts if text]), store.add("n", 4), store.get("c")])
""")
    assert got == [3, 4, "3"]


def test_late_keys_do_not_answer_a_wait_that_is_over(either):
    """torch 1.13 cannot cancel a wait; its next request implies the cancellation. Torch's own server replies to the old
    request later, which shifts every reply."""
    got = either("""
other = connect()
assert raised(store.wait, ["late"], timedelta(milliseconds=50))
store.set("mine", "1")
time_has_come = store.get("mine")
other.set("late", "now")
other.get("late")
reply([time_has_come, store.get("late"), store.add("n", 7), store.get("mine")])
""")
    assert got == ["1", "now", 7, "1"]


def test_calls_of_the_newest_client_only(newest):
    got = newest("""
store.append("t", "va")
store.append("t", "lue")
store.multi_set(["x", "y"], ["1", "2"])
store.queue_push("q", "first")
store.queue_push("q", "second")
queue = [store.queue_len("q"), store.queue_pop("q"), store.queue_pop("q"), store.queue_len("q")]
reply([store.get("t"), store.multi_get(["y", "x"]), queue, sorted(store.list_keys()), store.check(["x", "y"]), store.check(["x", "z"])])
""")
    assert got == ["value", ["2", "1"], [2, "first", "second", 0], ["t", "x", "y"], True, False]


def test_a_barrier(newest):
    got = newest("""
def enter(passed, client):
    client.barrier("b", 3, timedelta(seconds=30))
    passed.append(1)
passed, clients = [], [connect() for _ in range(3)]
threads = [threading.Thread(target=enter, args=(passed, client)) for client in clients]
for thread in threads: thread.start()
for thread in threads: thread.join()
reply([len(passed), store.get("b")])
""")
    assert got == [3, "3"]


def test_128_clients_wait_for_128_keys(either):
    got = either("""
clients = [connect() for _ in range(128)]
keys = [f"key {i}" for i in range(128)]
done = []
threads = [threading.Thread(target=lambda c=c: (c.wait(keys), done.append(c.get("key 127")))) for c in clients]
for thread in threads: thread.start()
for key in keys: store.set(key, key)
for thread in threads: thread.join()
reply([len(done), set(done) == {b"key 127"}])
""")
    assert got == [128, True]


def test_both_torches_on_one_server(binary, interpreter):
    clients = {param.id: interpreter(param.values[0]()) for param in PYTHONS}
    with serving(binary) as server:
        for count, (who, client) in enumerate(clients.items(), 1):
            assert client.answer(CONNECT + f"store.set('{who}', '{who}'); reply(store.add('n', 1))", server) == count
        script = "reply([store.get('debian'), store.get('current'), store.num_keys()])"
        assert clients["current"].answer(CONNECT + script, server) == ["debian", "current", 3]
