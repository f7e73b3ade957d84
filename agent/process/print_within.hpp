#pragma once

#include <functional>
#include <string_view>

namespace dlaunch::agent {

/// Writes `text` to `fd` in a child process, so that a pipe without a reader, a stopped terminal or an unresponsive
/// disk blocks only the child. Kills the child when `may_continue`, asked every 50 ms, returns false; the rest of the
/// text is lost. Call from the main thread.
void print_within(int fd, std::string_view text, const std::function<bool()>& may_continue);

}  // namespace dlaunch::agent
