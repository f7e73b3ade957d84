#pragma once
/// The log files of a running job, for `dlaunch logs`.

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::launcher {

/// A stream of a worker in the latest attempt of a run.
struct LogStream {
    int rank = 0;
    bool is_error = false;  ///< stderr
    std::string path;

    [[nodiscard]] auto operator<=>(const LogStream&) const = default;
};

/// The streams below a run's folder, in the order of their ranks; those of one rank if it is given.
[[nodiscard]] std::vector<LogStream> latest_streams(const std::string& run, const std::optional<int>& rank);

/// Reads a log file that grows and may be rotated meanwhile.
class GrowingFile {
public:
    explicit GrowingFile(std::string path) : path_(std::move(path)) {}

    /// Passes new bytes to `take`, oldest first. The first call passes the rotated files, too.
    void read(const std::function<void(std::string_view bytes)>& take);

private:
    [[nodiscard]] bool is_replaced() const;

    std::string path_;
    base::UniqueFd file_;
    bool is_known_ = false;
};

/// Puts "[rank] " before each line of `bytes`, which arrive in pieces.
class RankPrefix {
public:
    explicit RankPrefix(int rank);
    /// The whole lines so far, each with its prefix.
    [[nodiscard]] std::string add(std::string_view bytes);
    /// The last line if it has no end, with one.
    [[nodiscard]] std::string finish();

private:
    std::string prefix_, line_;
};

/// Copies the log files of a job to standard output and standard error.
class LogReader {
public:
    /// Lines have prefixes unless a rank was chosen.
    LogReader(std::vector<std::string> runs, std::optional<int> rank) : runs_(std::move(runs)), rank_(rank) {}

    /// Prints new bytes. False: the reader of the output is gone.
    bool print_new();
    /// Prints the last lines that have no end.
    void finish();
    [[nodiscard]] bool has_found_any() const { return !open_.empty(); }

private:
    struct Open {
        GrowingFile file;
        RankPrefix prefix;
    };
    bool write(const LogStream& stream, std::string_view text);

    std::vector<std::string> runs_;
    std::optional<int> rank_;
    std::map<LogStream, Open> open_;
    bool is_writable_ = true;
};

}  // namespace dlaunch::launcher
