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

}  // namespace dlaunch::launcher
