#pragma once
/// The coordinator's latest snapshot, in a memory file that its guard holds, too. If the process is killed during a
/// write, the earlier snapshot stays valid.

#include <string>
#include <string_view>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::rendezvous {

/// Creates a memory file with these bytes.
[[nodiscard]] base::Result<base::UniqueFd> make_memory_file(const char* name, std::string_view bytes);
/// All bytes of a memory file, from its start.
[[nodiscard]] std::string bytes_of(int file);

/// Empty if nothing has been written yet.
[[nodiscard]] std::string read_record(int file);
/// False: out of memory.
[[nodiscard]] bool write_record(int file, std::string_view bytes);

}  // namespace dlaunch::rendezvous
