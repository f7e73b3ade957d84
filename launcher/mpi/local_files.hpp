#pragma once
/// Opens files only where no server can keep the caller waiting.
///
/// A look-up in a folder of an unresponsive file system may wait for ever, and holds the folder's lock while it waits,
/// so that the workers' own look-ups cannot even be killed. The kernel can look a path up without leaving a file system
/// (openat2(2), RESOLVE_NO_XDEV), also where links lead to others.

#include <optional>
#include <string>

#include "launcher/mpi/local_mounts.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::launcher {

class LocalFiles {
public:
    /// Opens for reading. No descriptor: there is no such file, or it may not be on a local disk. After a file of the
    /// second kind all calls are without effect.
    [[nodiscard]] base::UniqueFd open(const std::string& path);

    /// A file was not opened because it may not be on a local disk.
    [[nodiscard]] bool met_foreign() const { return met_foreign_; }

private:
    [[nodiscard]] base::UniqueFd open_below_mount(const std::string& path);

    std::optional<bool> root_is_local_;
    std::optional<LocalMounts> mounts_;  ///< read for the first path that leaves the root's file system
    bool met_foreign_ = false;
};

}  // namespace dlaunch::launcher
