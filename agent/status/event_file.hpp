#pragma once

#include <string>
#include <string_view>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// The file of --event-log; belongs to the I/O thread. A full disk never stops the job: lines are lost, and one warning
/// reports the loss.
class EventFile {
public:
    EventFile() = default;  ///< writes nothing

    /// Creates or appends to `path`; a pipe or terminal is fine too.
    [[nodiscard]] static base::Result<EventFile> open(const std::string& path);

    /// Writes one line. After a line that was cut short, the next begins on a line of its own.
    void write(std::string_view line);

    /// Records that `lines` were dropped before they reached this file.
    void add_lost(std::uint64_t lines);

    /// The reason of the first loss, returned once; else empty.
    [[nodiscard]] std::string take_warning();

private:
    void warn(std::string why);

    base::UniqueFd file_;
    std::string warning_;
    bool has_warned_ = false;
    bool torn_ = false;  ///< the last line was cut short
};

}  // namespace dlaunch::agent
