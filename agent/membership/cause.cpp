#include "agent/membership/cause.hpp"

#include <vector>

#include "agent/errors/error_line.hpp"
#include "agent/errors/failure_record.hpp"
#include "agent/errors/first_cause.hpp"
#include "agent/errors/report.hpp"
#include "agent/membership/recorded_result.hpp"
#include "rendezvous/rounds/causes.hpp"

namespace dlaunch::agent {

namespace r = rendezvous;

static_assert(static_cast<int>(Strength::early_exit) == r::Cause::kEarlyExit);
static_assert(kEarlyExit == r::Causes::kShortly);
static_assert(static_cast<int>(Strength::named) == r::Cause::kUnclear);
static_assert(static_cast<int>(Strength::none) == r::Cause::kNoFailure);

r::Cause cause_of(const Failure& failure, Strength strength, int status, bool one_console) {
    const bool is_shown = failure.is_on_screen && !failure.record && one_console;
    return {.status = status,
            .kind = kind_of(failure),
            .summary = summary(failure),
            .permanent = failure.permanent,
            .strength = static_cast<std::uint8_t>(strength),
            .after = std::chrono::duration_cast<std::chrono::milliseconds>(failure.after),
            .message = is_shown ? "" : error_line(failure)};
}

std::optional<r::Cause> judge(const r::Verdict& of, bool one_console) {
    const std::vector<Failure> failures = failures_of(of);
    if (failures.empty()) return std::nullopt;
    return cause_of(failures.front(), Strength::named, exit_status_of(failures), one_console);
}

}  // namespace dlaunch::agent
