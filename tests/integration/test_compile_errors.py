"""Mistakes in calls of the library are one compile error each, which names what to write instead."""
# ctest: timeout 300

import os
import re
import shutil
import subprocess

import pytest

from packages import ROOT

HEADERS = """
#include <array>
#include <complex>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>
"""
DECLARED = """
struct Point { float x, y; };
enum class Colour { red };
struct Tensor {                                      // converts itself
    float data[4];
    operator dlaunch::MutableBuffer() const { return {const_cast<float*>(data), 4, dlaunch::DType::float32}; }
    operator dlaunch::ConstBuffer() const { return {data, 4, dlaunch::DType::float32}; }
};
int main() {
    const dlaunch::ProcessGroup world = dlaunch::init_process_group();
    std::vector<float> data(4), all(8);
    const std::vector<float> fixed(4);
    std::vector<Point> points(3), more(3);
    float number = 1;
    const float constant = 1;
    float table[2][2] = {};
    void* const stream = nullptr;
    using namespace dlaunch;
"""
FUNCTION = r"reduce others with a function"
WRONG = {
    "own type": ("all_reduce(points);", FUNCTION),
    "own types in two places": ("all_reduce(points, more);", FUNCTION),
    "own type in a later reduction": ("Work w = all_reduce_async(points, more);", FUNCTION),
    "one object": ("Point point{}; reduce(point, 1);", FUNCTION),
    "enum": ("Colour colour{}; all_reduce(colour);", FUNCTION),
    "array of arrays": ("std::vector<std::array<float, 3>> rows(2); all_reduce(rows);", FUNCTION),
    "long double": ("long double x = 1; world.all_reduce(x);", FUNCTION),
    "own type of the device": ("all_reduce(DeviceSpan<Point>{points.data(), 3, stream});", FUNCTION),
    "pointers": ("std::vector<float*> p(3); broadcast(p);", "elements that own memory"),
    "views": ("std::vector<std::span<float>> v(3); broadcast(v);", "flat"),
    "empty class": ("struct {} nothing; broadcast(nothing);", "range of elements"),
    "temporary object": ("Work w = isend(Point{1, 2}, 1);", "temporary.*variable"),
    "list": ("std::list<int> l(3); broadcast(l);", "contiguous.*std::vector"),
    "deque": ("std::deque<int> d(3); world.send(d, 1);", "contiguous.*std::vector"),
    "vector of bool": ("std::vector<bool> bits(3); broadcast(bits);", r"contiguous.*not of bool"),
    "nested": ("std::vector<std::vector<float>> rows(2); broadcast(rows);", "flat"),
    "two dimensions": ("broadcast(table);", "flat"),
    "strings": ("std::vector<std::string> names(2); broadcast(names);", r"broadcast_object\(\)"),
    "pointer": ("broadcast(data.data());", r"std::span\(pointer, count\)"),
    "null": ("send(nullptr, 1);", r"std::span\(pointer, count\)"),
    "smart pointer": ("auto p = std::make_unique<float[]>(3); broadcast(p);", r"std::span\(data, count\)"),
    "const range": ("broadcast(fixed);", "const"),
    "const span": ("recv(std::span(fixed), 1);", "const"),
    "const number": ("world.all_reduce(constant);", "const"),
    "const device memory": ("broadcast(DeviceSpan<const float>{&number, 1, stream});", "const"),
    "temporary": ("broadcast(std::vector<int>(3));", "temporary.*variable"),
    "temporary number": ("broadcast(3);", "temporary.*variable"),
    "temporary in a message": ("Work w = isend(number + 1, 1);", "temporary.*variable"),
    "temporary in a message of a group": ("Work w = world.isend(1.5F, 1);", "temporary.*variable"),
    "temporary of a later collective": ("Work w = all_gather_async(static_cast<float>(world.rank()), all);", "temporary.*variable"),
    "temporary of a later reduction": ("Work w = world.all_reduce_async(number * 2, number);", "temporary.*variable"),
    "temporary of a batch": ("std::array ops{P2POp{P2POp::Kind::send, 3, 1}};", "temporary.*variable"),
    "operation without parentheses": ("all_reduce(data, ReduceOp::avg);", r"ReduceOp::sum\(\)"),
    "options too early": ("all_reduce(data, CallOptions{});", "order"),
    "operation for a root": ("world.all_gather(data, ReduceOp::sum());", "order"),
}
RIGHT = """
    send(number + 1, 1); send(3, 1); send(fixed, 1); world.send("text", 1); send(constant, 1);
    recv(data); recv(std::span(data).first(2), 1); recv(number, 1, {.tag = 3});
    Work a = isend(number, 1), b = isend(std::span(fixed).last(2), 1), c = isend(constant, 1), d = isend({&number, 1, DType::float32}, 1);
    Work e = isend(ConstBuffer(data), 1), f = isend(MutableBuffer(data), 1), g = isend(Tensor{}, 1);
    Work h = all_gather_async(number, all), i = world.all_gather_async(fixed, all), j = scatter_async({}, data, 1);
    Work k = all_reduce_async(data), l = all_reduce_async(fixed, data), m = all_reduce_async(data, data, ReduceOp::max(), {.timeout = std::chrono::seconds(1)});
    all_reduce(data, ReduceOp::sum()); all_reduce(data, all); all_reduce(number, number); all_reduce(fixed, data, ReduceOp::sum());
    reduce(data, 0); reduce(data, 0, ReduceOp::sum()); reduce(data, all, 0); gather(number + 1, {}, 1); scatter({}, data);
    broadcast(std::as_writable_bytes(std::span(points))); send(std::as_bytes(std::span(points)), 1); broadcast(table[0]);
    Tensor tensor{}; broadcast(tensor); send(tensor, 1); const Tensor same{}; send(same, 1); all_reduce(same, tensor);
    broadcast(DeviceSpan<float>{&number, 1, stream}); send(DeviceSpan<const float>{&number, 1, stream}, 1); broadcast(DeviceBuffer<float>(3).span());
    std::array ops{P2POp{P2POp::Kind::send, data, 1}, P2POp{P2POp::Kind::recv, {data.data(), 4, DType::float32}, 1, 7}};
    for (Work& work : batch_isend_irecv(ops)) work.wait();
    std::vector<MutableBuffer> several{data, all}; std::vector<ConstBuffer> read{fixed, several[0]};
    broadcast(points); Point point{}; send(point, 1); send(Point{1, 2}, 1); recv(point, 0); Colour colour{}; broadcast(colour); Work n = isend(point, 1);
    std::vector<std::array<float, 3>> rows(2); broadcast(rows); all_gather(rows[0], rows); long double wide = 1; broadcast(wide);
    std::vector<std::complex<float>> z(2); all_reduce(z); all_reduce(z, z, ReduceOp::avg()); Work o = all_reduce_async(z);
    broadcast(DeviceSpan<Point>{points.data(), 3, stream}); DeviceBuffer<Point> there(3);
    all_reduce({&number, 1, DType::float32}); reduce_scatter(all, data); Work p = reduce_scatter_async(all, data);
    std::string text; broadcast(text); std::vector<Float16> halves(3); broadcast(halves); bool flag = true; all_reduce(flag);
"""


def options(compiler, standard):
    no_carets = "-fno-diagnostics-show-caret" if compiler == "g++" else "-fno-caret-diagnostics"
    return [compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-Wno-unused", no_carets, "-I", ROOT / "worker_lib/include"]


@pytest.fixture(scope="module", params=["g++", "clang++"])
def compiler(request):
    if not shutil.which(request.param):
        pytest.skip(f"not installed: {request.param}")
    return request.param


@pytest.fixture(scope="module")
def precompiled(compiler, tmp_path_factory):
    """The headers of most programs, in the order of an editor that sorts them: a user's come first."""
    header = tmp_path_factory.mktemp("precompiled") / "all.hpp"
    header.write_text(HEADERS + "#include <dlaunch/dlaunch.hpp>\n")
    ending = "gch" if compiler == "g++" else "pch"
    subprocess.run([*options(compiler, "c++20"), "-x", "c++-header", header, "-o", f"{header}.{ending}"], check=True, timeout=120)
    return ["-include", header]


@pytest.fixture
def compile_(compiler, tmp_path):
    """compile_(text, before, standard) -> (status, lines of errors, all lines) of a source file with this text."""

    def compile__(text, before=(), standard="c++20"):
        source = tmp_path / "source.cpp"
        source.write_text(text)
        done = subprocess.run([*options(compiler, standard), "-fsyntax-only", *before, source], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, timeout=120)
        lines = [line for line in done.stderr.splitlines() if not re.match(r"\d+ errors? generated", line)]
        return done.returncode, [line for line in lines if "error:" in line], lines

    return compile__


def program(statements):
    return f"{DECLARED}{statements}\n}}\n"


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_one_error_with_the_way_out(compile_, precompiled, mistake):
    statements, way_out = WRONG[mistake]
    status, errors, lines = compile_(program(statements), precompiled)
    assert status != 0 and len(errors) == 1 and len(lines) <= 8 and re.search(way_out, errors[0]), "\n".join(lines)


@pytest.mark.parametrize("header", ["distributed", "process_group"])
def test_another_header_explains_as_briefly(compile_, header):
    text = f"#include <list>\n#include <dlaunch/{header}.hpp>\nvoid f(const dlaunch::ProcessGroup& group) {{ std::list<int> l(3); group.all_reduce(l, l); }}\n"
    status, errors, lines = compile_(text)
    assert status != 0 and len(errors) == 1 and len(lines) <= 8 and "contiguous" in errors[0], "\n".join(lines)


def test_calls_without_a_mistake_compile(compile_, precompiled):
    status, _, lines = compile_(program(RIGHT), precompiled)
    assert status == 0, "\n".join(lines)


@pytest.mark.parametrize("header", sorted(path.name for path in (ROOT / "worker_lib/include/dlaunch").glob("*.hpp")))
def test_an_older_standard_is_one_error(compile_, header):
    """With whichever header a source file begins."""
    text = f"{HEADERS}#include <dlaunch/{header}>\n" + program("dlaunch::all_reduce(data);")
    status, errors, lines = compile_(text, standard="c++17")
    assert status != 0 and len(errors) == 1 and len(lines) <= 8 and re.search(r"C\+\+20.*-std=c\+\+20", errors[0]), "\n".join(lines)
