#pragma once
/// Whether waiting ranks may spin: only where each has a processor, alone or with others.

#include <span>
#include <string>

namespace dlaunch::worker {

struct Member;

/// The processors that this process may run on: a hexadecimal digit for each four, the first ones first.
[[nodiscard]] std::string usable_core_mask();

/// Whether the members on `host_id` may use as many processors together as they are.
[[nodiscard]] bool have_core_each(std::span<const Member> members, const std::string& host_id);

}  // namespace dlaunch::worker
