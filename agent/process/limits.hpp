#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>

namespace dlaunch::agent {

/// Raises our soft limit of open files to the hard one: every worker costs descriptors. Returns the limit that workers
/// are to get back (select(2) breaks beyond 1024), none when nothing was changed.
[[nodiscard]] std::optional<rlimit> raise_open_files();

/// A line for the user where even the hard limit of open files is too low for the agent itself; else empty. Of several
/// nodes one serves the others.
[[nodiscard]] std::string too_few_open_files(bool alone);

/// " (the limit is 64; raise it with ulimit -n)" where `error` is that we have too many files open; else empty.
[[nodiscard]] std::string open_files_hint(int error);

/// Marks every open descriptor but 0, 1 and 2 close-on-exec: no worker inherits what the agent's caller left open. By
/// close_range(2); where that is missing or refused (a seccomp filter), one by one.
void keep_descriptors();

/// Signals that must not end an agent: a reader that went away, a file that may not grow. Both come back as errors.
void ignore_write_signals();

}  // namespace dlaunch::agent
