#pragma once
/// The plan of a command line, without variables and files.

#include <string>
#include <utility>
#include <vector>

#include "launcher/cli/contexts.hpp"
#include "launcher/cli/parse.hpp"
#include "launcher/plan.hpp"
#include "tests/unit/launcher/deps_for_tests.hpp"

namespace dlaunch::launcher {

using Words = std::vector<std::string>;

struct Planned {
    base::Result<agent::Plan> plan;
    Words warnings;
    [[nodiscard]] std::string error() const { return plan ? "" : plan.error().text; }
};

inline Planned planned(const Words& words, const Deps& machine = small_machine()) {
    Words warnings;
    std::vector<ContextRequest> contexts;
    for (const Normalized& line : *normalize_contexts(words)) {
        auto settings = parse(line.options);
        if (!settings) return {settings.error(), {}};
        contexts.push_back({std::move(*settings), line.program});
    }
    auto plan = make_plan(contexts, machine, warnings);
    return {std::move(plan), std::move(warnings)};
}

}  // namespace dlaunch::launcher
