#include "agent/slurm_job.hpp"

#include <algorithm>
#include <array>

namespace dlaunch::agent {
namespace {

/// COMPLETING hides the state below it, which would distinguish a time limit from scancel.
constexpr std::array<std::string_view, 4> kEnding{"COMPLETING", "CANCELLED", "COMPLETED", "FAILED"};
constexpr std::string_view kBlanks = " \t\r\n";

/// The value of the first `key`, which ends with `=`.
std::string_view value_of(std::string_view text, std::string_view key) {
    for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
        if (at > 0 && kBlanks.find(text[at - 1]) == std::string_view::npos) continue;
        const std::string_view rest = text.substr(at + key.size());
        return rest.substr(0, rest.find_first_of(kBlanks));
    }
    return {};
}

bool is_time(std::string_view value) {
    return !value.empty() && value != "None" && value != "Unknown" && value != "N/A" && value != "(null)";
}

}  // namespace

bool ends_for_good(std::string_view shown) {
    const std::size_t after_name = shown.find('\n');  // the first line has the job's name, which may hold any text
    const std::string_view fields = after_name == std::string_view::npos ? "" : shown.substr(after_name);
    const bool is_ending = std::ranges::find(kEnding, value_of(fields, "JobState=")) != kEnding.end();
    const bool waits_already = !is_time(value_of(fields, "EndTime="));  // a requeue has taken the end back
    const bool is_due = value_of(fields, "Reason=") == "TimeLimit" || is_time(value_of(fields, "PreemptTime="));
    return is_ending && !waits_already && !is_due;
}

}  // namespace dlaunch::agent
