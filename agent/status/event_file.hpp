#pragma once

#include <string>
#include <string_view>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// The file of --event-log; belongs to the I/O thread. A full disk never stops the job: lines are lost, and a complaint
/// reports it once.
class EventFile {
public:
    EventFile() = default;  ///< writes nothing

    /// Creates or appends to `path`; a pipe or terminal is fine too.
    [[nodiscard]] static base::Result<EventFile> open(const std::string& path);

    /// Writes one line. After a line that was cut short, the next begins on a line of its own.
    void write(std::string_view line);

    /// Lines were lost before they came here.
    void lose(std::uint64_t lines);

    /// Why lines were lost, once; empty otherwise.
    [[nodiscard]] std::string take_complaint();

private:
    void complain(std::string why);

    base::UniqueFd file_;
    std::string complaint_;
    bool complained_ = false;
    bool torn_ = false;  ///< the last line was cut short
};

}  // namespace dlaunch::agent
