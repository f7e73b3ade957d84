#pragma once
/// Host files: those of mpiexec and DeepSpeed, and the files that WCOLL names for pdsh. No I/O.

#include <string>
#include <string_view>
#include <vector>

#include "launcher/hosts/host_list.hpp"

namespace dlaunch::launcher {

/// Lines of a host list ("node[01-16]", "ann@gpu7:4") and at most one "slots=N"; '#' begins a comment. A line that is
/// anything else, a host named twice and a file without hosts are errors, which begin with `name` and the line.
[[nodiscard]] base::Result<std::vector<HostEntry>> parse_hostfile(std::string_view text, const std::string& name);

/// A file of pdsh: the same, but pdsh's "#include FILE" is an error and no comment, for its hosts would be missing.
[[nodiscard]] base::Result<std::vector<HostEntry>> parse_wcoll(std::string_view text, const std::string& name);

}  // namespace dlaunch::launcher
