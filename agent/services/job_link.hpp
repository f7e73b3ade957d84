#pragma once
/// The registry of a user's jobs on a node, for `dlaunch ps`: a folder of links to the sockets of agents and front ends
/// (socket.hpp). The sockets themselves lie in $TMPDIR, where the registry's readers look, too; the links find those of
/// another $TMPDIR. A link whose socket refuses connections is left of a job that was killed.

#include <string>

namespace dlaunch::agent {

/// The registry's folder below the user's runtime folder.
inline constexpr const char* kJobsFolder = "dlaunch";

/// One entry. make() and remove() block as long as the folder's disk does: call them on a thread that may wait.
class JobLink {
public:
    JobLink() = default;  ///< none
    JobLink(const JobLink&) = delete;
    JobLink& operator=(const JobLink&) = delete;
    ~JobLink() { remove(); }

    /// `runtime`: $XDG_RUNTIME_DIR, or empty. Without it, with a folder of another user, and where the link cannot be
    /// made, there is no entry.
    void make(const std::string& runtime, const std::string& socket);
    void remove();

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace dlaunch::agent
