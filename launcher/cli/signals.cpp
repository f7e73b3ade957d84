#include "launcher/cli/signals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iterator>

#include "launcher/cli/split.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::launcher {
namespace {

/// Whether the signal's default action does not terminate a process: it stops, continues, or is ignored.
bool never_terminates(int number) {
    constexpr int kThese[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGWINCH, SIGURG};
    return std::ranges::find(kThese, number) != std::end(kThese);
}

/// False for signals that cannot be caught, and for SIGCHLD, which the agent uses itself.
bool can_be_handled(int number) { return number != SIGKILL && number != SIGSTOP && number != SIGCHLD; }

}  // namespace

base::Result<int> parse_stop_signal(std::string_view text) {
    int number = base::signal_number(trimmed(text)).value_or(0);
    if (number == 0 || never_terminates(number))
        return base::Error{"expected a signal that ends a process, like SIGTERM, INT or 10"};
    return number;
}

base::Result<SignalList> parse_signal_list(std::string_view text) {
    if (trimmed(text).empty()) return base::Error{"expected signals like SIGTERM,SIGINT"};
    SignalList list;
    for (std::string_view part : split(text, ',')) {
        int number = base::signal_number(trimmed(part)).value_or(0);
        if (number == 0)
            list.warnings.push_back(fmt::format("'{}' is not a signal and is ignored", trimmed(part)));
        else if (!can_be_handled(number))
            list.warnings.push_back(fmt::format("{} cannot be handled and is ignored", base::signal_name(number)));
        else if (std::ranges::find(list.numbers, number) == list.numbers.end())
            list.numbers.push_back(number);
    }
    return list;
}

}  // namespace dlaunch::launcher
