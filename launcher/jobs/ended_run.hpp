#pragma once

#include <optional>
#include <string>

namespace dlaunch::launcher {

/// The absolute folder of the run that `name` means: the path of a run, or of a log directory with a link `latest`; the
/// name of a run in `temporary`; "latest", or none, the newest ended run there; the program of the only such run there,
/// or the job id, also behind the path of a log directory, of the only such run. None: there is no such run.
[[nodiscard]] std::optional<std::string> find_run(const std::optional<std::string>& name, const std::string& temporary);

}  // namespace dlaunch::launcher
