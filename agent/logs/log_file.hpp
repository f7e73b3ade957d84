#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/logs/warnings.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// Rotation of a file by size.
struct Rotation {
    std::uint64_t most_bytes = 0;  ///< 0: never
    int keep = 5;                  ///< number of old files, NAME.1 (the newest) to NAME.keep; 0: old data is deleted
};

/// The number of bytes of `data` that a file of `size` bytes accepts, and whether the file is rotated after them. Keeps
/// lines whole if possible: a file may grow to twice the limit to hold a long line, and only a longer line is cut.
struct Cut {
    std::size_t bytes = 0;
    bool then_rotate = false;
};
[[nodiscard]] Cut next_cut(std::uint64_t size, bool at_line_start, std::string_view data, std::uint64_t most_bytes);

/// One log file. Data that cannot be written is lost, with one warning; each later write tries again.
class LogFile {
public:
    LogFile() = default;  ///< writes nothing

    /// Creates the file, empty. Does not warn about a lack of descriptors, which usually fails the start of a worker
    /// and is reported there; write() tries again and warns.
    void open(std::string path, Rotation rotation, Warnings& warnings);
    void close() {
        file_.reset();
        path_.clear();
    }

    /// Returns the end of `data` that the file has not taken: the disk is full, or the file could not be created.
    std::string_view write(std::string_view data);

    [[nodiscard]] const std::string& path() const { return path_; }
    explicit operator bool() const { return !path_.empty(); }

private:
    bool create();
    [[nodiscard]] std::size_t put(std::string_view data);
    void rotate();

    std::string path_;
    base::UniqueFd file_;
    Rotation rotation_;
    Warnings* warnings_ = nullptr;
    std::uint64_t size_ = 0;
    bool at_line_start_ = true;
};

}  // namespace dlaunch::agent
