#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/logs/complaints.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// How a file is rotated by its size.
struct Rotation {
    std::uint64_t most_bytes = 0;  ///< 0: never
    int keep = 5;                  ///< NAME.1 (the newest) to NAME.keep; 0: what is rotated is lost
};

/// What of `data` still goes into a file that has `size` bytes, and whether the rest belongs into the next one.
/// Lines are cut only when they are longer than the limit: a file may become twice as large for the sake of a line.
struct Cut {
    std::size_t bytes = 0;
    bool then_rotate = false;
};
[[nodiscard]] Cut next_cut(std::uint64_t size, bool at_line_start, std::string_view data, std::uint64_t most_bytes);

/// One log file. What cannot be written is lost and complained about once; later data is tried again.
class LogFile {
public:
    LogFile() = default;  ///< writes nothing

    /// Creates the file, empty. A lack of descriptors is a complaint of the first write(), which tries again: it ends
    /// the start of workers, too, and is reported there.
    void open(std::string path, Rotation rotation, Complaints& complaints);
    void close() {
        file_.reset();
        path_.clear();
    }

    void write(std::string_view data);

    [[nodiscard]] const std::string& path() const { return path_; }
    explicit operator bool() const { return !path_.empty(); }

private:
    bool create();
    void put(std::string_view data);
    void rotate();

    std::string path_;
    base::UniqueFd file_;
    Rotation rotation_;
    Complaints* complaints_ = nullptr;
    std::uint64_t size_ = 0;
    bool at_line_start_ = true;
};

}  // namespace dlaunch::agent
