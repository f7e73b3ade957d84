#pragma once
/// What kind of line a program has written to stderr.

#include <string>
#include <string_view>

namespace dlaunch::agent {

struct LogLine {
    std::string text;
    bool is_boxed = false;  ///< of a Python exception group, which draws a box around its exceptions

    /// A line of a log below the level of an error: a program that retries logs such lines and continues.
    [[nodiscard]] bool is_remark() const;
    /// A line of a log at the level of a warning or an error.
    [[nodiscard]] bool is_logged_error() const;
    /// "giving up", "main: shutting down", "exit status 2", times of a shell: that the process ends, not why.
    [[nodiscard]] bool is_farewell() const;
    /// glog, absl and torch's C++ logs: "W1122 19:15:48.1", also within brackets.
    [[nodiscard]] bool is_of_glog() const;
    /// Of glog; the process aborts after it.
    [[nodiscard]] bool is_logged_as_fatal() const;
    [[nodiscard]] bool states_something() const { return !text.empty() && !is_remark() && !is_farewell(); }
};

/// The line without colours, without the prefix of torch's excepthook and C++ logs ("[rank1]: "), without the box of an
/// exception group, and without blanks at its end.
[[nodiscard]] LogLine plain_line(std::string_view line);

}  // namespace dlaunch::agent
