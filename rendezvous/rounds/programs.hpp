#pragma once
/// The names of the programs that nodes have brought to a job. No I/O, no clock.

#include <cstddef>
#include <set>
#include <string>

namespace dlaunch::rendezvous {

class Programs {
public:
    static constexpr std::size_t kMost = 64;        ///< names; further ones are ignored
    static constexpr std::size_t kMostBytes = 255;  ///< of a file name (NAME_MAX)

    /// The part of a name that is kept and shown.
    [[nodiscard]] static std::string shown(const std::string& program) { return program.substr(0, kMostBytes); }

    /// True: the name is new.
    bool add(const std::string& program) { return names_.size() < kMost && names_.insert(shown(program)).second; }
    [[nodiscard]] std::size_t size() const { return names_.size(); }

private:
    std::set<std::string> names_;
};

}  // namespace dlaunch::rendezvous
