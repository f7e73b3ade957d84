#include "launcher/plan_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace dlaunch::launcher {
namespace {

bool reads_commands(const agent::Wrap& wrap) {
    constexpr std::array<std::string_view, 3> kDebuggers{"gdb", "cuda-gdb", "lldb"};
    const std::string_view path = wrap.words[0], name = path.substr(path.rfind('/') + 1);
    const auto is_batch = [](const std::string& word) { return word.ends_with("-batch"); };
    return std::ranges::find(kDebuggers, name) != kDebuggers.end() && std::ranges::none_of(wrap.words, is_batch);
}

/// `lacks_input`: a debugger that finds no input ends, and its program with it.
void check_wraps(const agent::Context& context, int first_rank, bool lacks_input, std::vector<std::string>& warnings) {
    for (const agent::Wrap& wrap : context.program.wraps) {
        const int first = wrap.ranks ? *wrap.ranks->begin() : first_rank;
        const int last = wrap.ranks ? *wrap.ranks->rbegin() : first_rank;
        const bool has_ranks = first >= first_rank && last < first_rank + context.workers;
        const bool reads_anyway = first == 0 && context.program.mpi != agent::MpiFamily::none;
        if (wrap.ranks && !has_ranks)
            warnings.push_back(fmt::format("--wrap: there is no rank {} of this program to run under {}",
                                           first < first_rank ? first : last, wrap.words[0]));
        else if (lacks_input && reads_commands(wrap) && !reads_anyway)
            warnings.push_back(
                fmt::format("--wrap: {} reads its commands from standard input: add --stdin={}", wrap.words[0], first));
    }
}

int workers_of(const std::vector<agent::Context>& contexts) {
    int workers = 0;
    for (const agent::Context& context : contexts) workers += context.workers;
    return workers;
}

}  // namespace

base::Result<void> check_stdin(const Settings& settings, const std::vector<agent::Context>& contexts) {
    const int workers = workers_of(contexts);
    const agent::StdinPlan& input = settings.plan.standard_input;
    if (input.mode != agent::StdinPlan::Mode::rank || input.rank < workers) return {};
    return base::Error{
        fmt::format("{}: expected a rank below {}, the number of workers", settings.spelling("stdin"), workers)};
}

void check_wraps(const agent::StdinPlan& input, const std::vector<agent::Context>& contexts,
                 std::vector<std::string>& warnings) {
    const bool lacks_input = input.mode == agent::StdinPlan::Mode::automatic && workers_of(contexts) > 1;
    int first_rank = 0;
    for (const agent::Context& context : contexts) {
        check_wraps(context, first_rank, lacks_input, warnings);
        first_rank += context.workers;
    }
}

std::string standard_input_text(const agent::Plan& plan) {
    using Mode = agent::StdinPlan::Mode;
    const bool is_mpi = plan.contexts.front().program.mpi != agent::MpiFamily::none;
    const bool is_single = plan.workers() == 1 && (!is_mpi || plan.rendezvous.max_nodes == 1);
    switch (plan.standard_input.mode) {
        case Mode::automatic: return is_single ? "all" : is_mpi ? "rank 0" : "none";
        case Mode::none: return "none";
        case Mode::all: return "all";
        case Mode::rank: return fmt::format("rank {}", plan.standard_input.rank);
    }
    return {};
}

}  // namespace dlaunch::launcher
