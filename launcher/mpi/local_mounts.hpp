#pragma once
/// The mounted file systems that lie on local disks or in memory, whose files can be read without a wait for a server.

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::launcher {

class LocalMounts {
public:
    /// `mountinfo`: the text of /proc/self/mountinfo.
    explicit LocalMounts(std::string_view mountinfo);

    /// The place of the file system with this absolute, normal path. None: that file system, or one that the way to it
    /// leads over, may be a server's.
    [[nodiscard]] std::optional<std::string> local_place_of(std::string_view path) const;

private:
    std::map<std::string, bool, std::less<>> is_local_;  ///< by place; the last file system at a place hides the others
};

}  // namespace dlaunch::launcher
