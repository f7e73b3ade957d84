#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>

namespace dlaunch::agent {

/// Raises this process's soft limit of open files to the hard one, because every worker costs descriptors. Returns the
/// former limit, which workers get back (select(2) breaks beyond 1024); none: unchanged.
[[nodiscard]] std::optional<rlimit> raise_open_files();

/// A line for the user if the hard limit of open files is too low for the agent; else empty. `alone`: a job of one
/// node, which serves no other nodes.
[[nodiscard]] std::string too_few_open_files(bool alone);

/// " (the limit is 64; raise it with ulimit -n)" if `error` is EMFILE; else empty.
[[nodiscard]] std::string open_files_hint(int error);

/// Marks every open descriptor except 0, 1 and 2 close-on-exec, so that no worker inherits the caller's descriptors.
/// Uses close_range(2); if that is missing or refused (a seccomp filter), marks them one by one.
void keep_descriptors();

/// Ignores SIGPIPE and SIGXFSZ: writes fail with EPIPE and EFBIG instead.
void ignore_write_signals();

}  // namespace dlaunch::agent
