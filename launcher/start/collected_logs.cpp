#include "launcher/start/collected_logs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/files.hpp"

namespace dlaunch::launcher {

namespace fs = std::filesystem;

bool is_safe_below(std::string_view path) {
    const fs::path given(path);
    if (path.empty() || given.is_absolute() || path.find('\0') != path.npos) return false;
    for (const fs::path& part : given)
        if (part == ".." || part == "." || part.empty()) return false;
    return true;
}

void name_collected_files(agent::Failure& failure, const agent::RunPaths& run) {
    failure.log_folder.clear();
    for (std::string* const path : {&failure.stdout_file, &failure.stderr_file, &failure.error_file}) {
        const auto below = path->find("/attempt_");
        if (below == std::string::npos) continue;
        const std::string file = fmt::format("/{}{}", failure.host, path->substr(below));
        *path = run.folder() + file;
        if (!run.short_name().empty()) failure.log_folder = run.short_name() + fs::path(file).parent_path().string();
    }
}

std::string CollectedLogs::begin_file(int number, const std::string& host, const std::string& path) {
    open_.erase(number);
    if (!is_safe_below(path) || !is_safe_below(host)) return fail(path);
    const fs::path file = fs::path(folder_) / host / path;
    std::error_code failed;
    fs::create_directories(file.parent_path(), failed);
    base::UniqueFd opened(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!opened) return fail(file.string());
    open_[number] = std::move(opened);
    return {};
}

std::string CollectedLogs::add(int number, std::string_view bytes) {
    const auto found = open_.find(number);
    if (found == open_.end() || base::write_all(found->second.get(), bytes)) return {};
    open_.erase(found);
    return fail(folder_);
}

std::string CollectedLogs::fail(const std::string& path) {
    if (std::exchange(has_failed_, true)) return {};
    return fmt::format("--collect-logs: {}: {}; going on without such files", base::printable(path),
                       std::strerror(errno));
}

}  // namespace dlaunch::launcher
