#pragma once

#include <cstddef>
#include <string>

namespace dlaunch::store {

/// Most bytes that the keys, values and queues of a store hold where its owner sets no limit: an eighth of this
/// machine's memory or of the lowest memory limit of this process's cgroup and those above it, at least 32 MiB and at
/// most 1 GiB. Workers exchange addresses, ids and pickled objects of some megabytes; most of the memory is theirs.
/// `root` is a prefix for all paths, for fake trees in tests.
[[nodiscard]] std::size_t usual_kept_bytes(const std::string& root = "");

}  // namespace dlaunch::store
