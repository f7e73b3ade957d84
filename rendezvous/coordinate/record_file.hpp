#pragma once
/// The latest snapshot of a coordinator, in a memory file that its guard holds too. A process that is killed amid
/// write() leaves the earlier snapshot in force.

#include <string>
#include <string_view>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::rendezvous {

/// A memory file with these bytes.
[[nodiscard]] base::Result<base::UniqueFd> make_memory_file(const char* name, std::string_view bytes);
/// All bytes of a memory file, from its start.
[[nodiscard]] std::string bytes_of(int file);

/// Empty when nothing was written yet.
[[nodiscard]] std::string read_record(int file);
/// False: there is no memory for it.
[[nodiscard]] bool write_record(int file, std::string_view bytes);

}  // namespace dlaunch::rendezvous
