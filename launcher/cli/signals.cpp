#include "launcher/cli/signals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iterator>

#include "launcher/cli/words.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::launcher {
namespace {

/// Signals that end no process which does not handle them: they stop it, continue it, or do nothing.
bool ends_nothing(int number) {
    constexpr int kThese[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGWINCH, SIGURG};
    return std::ranges::find(kThese, number) != std::end(kThese);
}

/// Signals that nobody can catch, or that the agent needs for itself.
bool can_be_handled(int number) { return number != SIGKILL && number != SIGSTOP && number != SIGCHLD; }

}  // namespace

base::Result<int> parse_stop_signal(std::string_view text) {
    int number = base::signal_number(trimmed(text)).value_or(0);
    if (number == 0 || ends_nothing(number))
        return base::Error{"expected a signal that ends a process, like SIGTERM, INT or 10"};
    return number;
}

base::Result<SignalList> parse_signal_list(std::string_view text) {
    if (trimmed(text).empty()) return base::Error{"expected signals like SIGTERM,SIGINT"};
    SignalList list;
    for (std::string_view part : split(text, ',')) {
        int number = base::signal_number(trimmed(part)).value_or(0);
        if (number == 0)
            list.warnings.push_back(fmt::format("'{}' is no signal and is left out", trimmed(part)));
        else if (!can_be_handled(number))
            list.warnings.push_back(fmt::format("{} cannot be handled and is left out", base::signal_name(number)));
        else if (std::ranges::find(list.numbers, number) == list.numbers.end())
            list.numbers.push_back(number);
    }
    return list;
}

}  // namespace dlaunch::launcher
