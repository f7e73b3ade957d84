#pragma once
/// Whether waiting ranks may spin: only where the ranks of a host together have a processor for each.

#include <span>
#include <string>

namespace dlaunch::worker {

struct Member;

/// The processors that this process may run on: a hexadecimal digit for each four, the first ones first.
[[nodiscard]] std::string usable_core_mask();

/// Whether the members on `host_id` may run on at least as many processors together as there are members.
[[nodiscard]] bool have_core_each(std::span<const Member> members, const std::string& host_id);

}  // namespace dlaunch::worker
