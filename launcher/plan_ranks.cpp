#include "launcher/plan_ranks.hpp"

#include <fmt/format.h>

namespace dlaunch::launcher {
namespace {

void check_wraps(const agent::Context& context, int first_rank, std::vector<std::string>& warnings) {
    for (const agent::Wrap& wrap : context.program.wraps) {
        if (!wrap.ranks) continue;
        const int last = *wrap.ranks->rbegin(), first = *wrap.ranks->begin();
        if (first >= first_rank && last < first_rank + context.workers) continue;
        warnings.push_back(fmt::format("--wrap: there is no rank {} of this program to run under {}",
                                       first < first_rank ? first : last, wrap.words[0]));
    }
}

}  // namespace

base::Result<void> check_stdin(const Settings& settings, const std::vector<agent::Context>& contexts) {
    int workers = 0;
    for (const agent::Context& context : contexts) workers += context.workers;
    const agent::StdinPlan& input = settings.plan.standard_input;
    if (input.mode != agent::StdinPlan::Mode::rank || input.rank < workers) return {};
    return base::Error{
        fmt::format("{}: expected a rank below {}, the number of workers", settings.spelling("stdin"), workers)};
}

void check_wraps(const std::vector<agent::Context>& contexts, std::vector<std::string>& warnings) {
    int first_rank = 0;
    for (const agent::Context& context : contexts) {
        check_wraps(context, first_rank, warnings);
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
