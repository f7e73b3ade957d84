#include "launcher/jobs/job_logs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "rendezvous/base/files.hpp"

namespace dlaunch::launcher {
namespace {

namespace fs = std::filesystem;

/// The number at the beginning of a text; -1: none.
int leading_number(std::string_view text) {
    int number = -1;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::string latest_attempt(const std::string& run) {
    constexpr std::string_view kBegin = "attempt_";
    int latest = -1;
    std::error_code failed;
    for (fs::directory_iterator entry(run, failed), end; !failed && entry != end; entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(kBegin)) latest = std::max(latest, leading_number(name.substr(kBegin.size())));
    }
    return latest < 0 ? std::string() : fmt::format("{}/{}{}", run, kBegin, latest);
}

base::UniqueFd open_file(const std::string& path) {
    return base::UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

void read_on(int file, const std::function<void(std::string_view)>& take) {
    std::array<char, 65536> bytes;
    for (ssize_t got = 0; (got = ::read(file, bytes.data(), bytes.size())) > 0;)
        take({bytes.data(), static_cast<std::size_t>(got)});
}

}  // namespace

std::vector<LogStream> latest_streams(const std::string& run, const std::optional<int>& rank) {
    const std::string attempt = latest_attempt(run);
    std::vector<LogStream> streams;
    if (attempt.empty()) return streams;
    std::error_code failed;
    for (fs::directory_iterator entry(attempt + "/by-rank", failed), end; !failed && entry != end;
         entry.increment(failed)) {
        const int of = leading_number(entry->path().filename().string());
        if (of < 0 || (rank && of != *rank)) continue;
        for (const bool is_error : {false, true}) {
            const std::string path = entry->path().string() + (is_error ? "/stderr.log" : "/stdout.log");
            std::error_code missing;
            if (fs::exists(path, missing)) streams.push_back({of, is_error, path});
        }
    }
    std::ranges::sort(streams);
    return streams;
}

/// The file at the path is another one than the open one, after a rotation.
bool GrowingFile::is_replaced() const {
    struct stat now {
    }, then{};
    return stat(path_.c_str(), &now) == 0 && fstat(file_.get(), &then) == 0 &&
           (now.st_ino != then.st_ino || now.st_dev != then.st_dev);
}

void GrowingFile::read(const std::function<void(std::string_view bytes)>& take) {
    if (!is_known_) {
        int oldest = 0;
        while (access(fmt::format("{}.{}", path_, oldest + 1).c_str(), R_OK) == 0) ++oldest;
        for (; oldest > 0; --oldest)
            if (const auto file = open_file(fmt::format("{}.{}", path_, oldest))) read_on(file.get(), take);
        is_known_ = true;
    }
    if (!file_) file_ = open_file(path_);
    if (!file_) return;
    read_on(file_.get(), take);
    if (!is_replaced()) return;
    read_on(file_.get(), take);  // bytes from before the rotation
    file_ = open_file(path_);
    if (file_) read_on(file_.get(), take);
}

RankPrefix::RankPrefix(int rank) : prefix_(fmt::format("[{}] ", rank)) {}

std::string RankPrefix::add(std::string_view bytes) {
    std::string lines;
    for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos; bytes.remove_prefix(end + 1)) {
        lines += prefix_ + line_;
        lines += bytes.substr(0, end + 1);
        line_.clear();
    }
    line_ += bytes;
    return lines;
}

std::string RankPrefix::finish() {
    if (line_.empty()) return {};
    std::string last = prefix_ + line_ + "\n";
    line_.clear();
    return last;
}

bool LogReader::write(const LogStream& stream, std::string_view text) {
    if (!text.empty() && !base::write_all(stream.is_error ? STDERR_FILENO : STDOUT_FILENO, text)) is_writable_ = false;
    return is_writable_;
}

bool LogReader::print_new() {
    for (const std::string& run : runs_)
        for (const LogStream& stream : latest_streams(run, rank_))
            open_.try_emplace(stream, Open{GrowingFile(stream.path), RankPrefix(stream.rank)});
    for (auto& [stream, open] : open_)
        open.file.read([&, &key = stream, &prefix = open.prefix](std::string_view bytes) {
            if (is_writable_) write(key, rank_ ? std::string(bytes) : prefix.add(bytes));
        });
    return is_writable_;
}

void LogReader::finish() {
    for (auto& [stream, open] : open_) write(stream, open.prefix.finish());
}

}  // namespace dlaunch::launcher
