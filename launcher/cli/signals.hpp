#pragma once
/// Options with signals as values. No I/O.

#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// For --stop-signal: any signal that can terminate a process.
[[nodiscard]] base::Result<int> parse_stop_signal(std::string_view text);

struct SignalList {
    std::vector<int> numbers;           ///< each once, in the order given
    std::vector<std::string> warnings;  ///< for names that are unknown or cannot be handled; torchrun warns, too
};
/// For --signals-to-handle; an error only if the list is empty.
[[nodiscard]] base::Result<SignalList> parse_signal_list(std::string_view text);

}  // namespace dlaunch::launcher
