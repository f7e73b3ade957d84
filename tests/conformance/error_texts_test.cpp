/// Texts of errors in a group of some ranks: they name ranks of the world, as logs and reports do, while Error::ranks()
/// has ranks of the group.

#include <csignal>
#include <regex>

#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using ErrorTextsTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, ErrorTextsTest, testing::ValuesIn(cases({3, 5}, true)), name_of);

/// The last rank of the world is rank 0 of the group.
std::vector<int> members(int ranks) { return ranks == 3 ? std::vector{2, 1} : std::vector{4, 3, 1}; }

/// `call` must throw an Error that has these ranks of the group, and a text that matches `expected` and names no rank
/// outside the group.
void expect_text(ErrorCode code, const std::vector<int>& ranks, const std::string& expected,
                 const std::function<void()>& call) {
    const Error error = expect_error(code, call);
    const std::string text = error.what();
    check(error.ranks() == ranks, "other ranks: " + text);
    check(std::regex_search(text, std::regex(expected)), text + ", expected: " + expected);
    check(text.find("rank 0") == std::string::npos, "rank 0 is no member: " + text);
}

TEST_P(ErrorTextsTest, mismatch) {
    if (GetParam().backend == "nccl") return;  // it compares calls that are pending, see NcclFaultsTest
    run([](const ProcessGroup& world) {
        const ProcessGroup group = world.new_group(members(world.size()));
        if (!group.is_member()) return;
        std::vector<float> data(20);
        const auto reduce = [&] { group.all_reduce(std::span(data).first(group.rank() == 1 ? 9 : 10)); };
        const auto first = std::to_string(group.ranks()[0]), odd = std::to_string(group.ranks()[1]);
        expect_text(ErrorCode::mismatch, {0, 1},
                    "rank " + first + R"( called all_reduce\(float32, 10, sum\), rank )" + odd + " called", reduce);
        std::vector<std::size_t> counts(data.size(), 1);
        counts.resize(static_cast<std::size_t>(group.size()));
        std::vector<std::size_t> sent = counts;
        if (group.rank() == 0) sent[1] = 2;
        const std::span<float> in(data.data(), counts.size() + (group.rank() == 0 ? 1 : 0));
        std::vector<float> out(counts.size());
        expect_text(ErrorCode::mismatch, {0, 1},
                    "rank " + first + " sends 2 elements to rank " + odd + ", which expects 1",
                    [&] { group.all_to_allv(in, sent, out, counts); });
        await_all(group);
    });
}

TEST_P(ErrorTextsTest, late_rank) {
    run([](const ProcessGroup& world) {
        const ProcessGroup group = world.new_group(members(world.size()));
        if (!group.is_member()) return;
        const auto late = std::to_string(group.ranks()[0]);
        const BarrierOptions soon{.timeout = std::chrono::milliseconds(100)};
        if (group.rank() != 0) {
            expect_text(ErrorCode::timeout, {0}, "rank " + late + "\\b", [&] { group.monitored_barrier(soon); });
        }
        await_all(group);
    });
}

TEST_P(ErrorTextsTest, aborting_rank) {
    run([](const ProcessGroup& world) {
        ProcessGroup group = world.new_group(members(world.size()));
        if (!group.is_member()) return;
        await_all(group);
        const std::string expected = "rank " + std::to_string(group.ranks()[0]) + ": bad loss";
        if (group.rank() == 0) group.abort("bad loss");
        float one = 1;
        expect_text(ErrorCode::aborted, {0}, expected, [&] { group.all_reduce(one); });
    });
}

TEST_P(ErrorTextsTest, killed_rank) {
    const int lost = GetParam().ranks - 1;
    run_world(
        GetParam().ranks, WorldOptions{.backend = GetParam().backend, .dead = {lost}}, [&](const ProcessGroup& world) {
            const ProcessGroup group = world.new_group(members(world.size()));
            if (!group.is_member()) return;
            await_all(group);
            if (group.rank() == 0) raise(SIGKILL);
            float one = 1;
            expect_text(ErrorCode::peer_lost, {0}, "rank " + std::to_string(lost) + R"(( \(pid \d+\))? is gone)", [&] {
                for (;;) group.all_reduce(one);
            });
        });
}

}  // namespace
}  // namespace dlaunch::conformance
