#include "agent/logs/old_runs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>

#include "agent/logs/run_directory.hpp"
#include "agent/process/leftovers.hpp"

namespace dlaunch::agent {
namespace {

constexpr std::size_t kRandom = 8;  // letters at the end of a run's name

bool ends_in_random_letters(std::string_view name, char before) {
    if (name.size() < kRandom + 2 || name[name.size() - kRandom - 1] != before) return false;
    return std::ranges::all_of(name.substr(name.size() - kRandom),
                               [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '5'); });
}

/// Calls `see` for each name but . and .., until it returns false. False: the folder cannot be read.
bool for_each_entry(const std::string& folder, const std::function<bool(std::string_view)>& see) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
    if (!entries) return false;
    while (const dirent* entry = readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != ".." && !see(name)) break;
    }
    return true;
}

/// Whether the folder has entries, all of them such.
bool has_only(const std::string& folder, const std::function<bool(std::string_view)>& is_such) {
    bool any = false, other = false;
    const bool is_readable = for_each_entry(folder, [&](std::string_view name) {
        (is_such(name) ? any : other) = true;
        return !other;
    });
    return is_readable && any && !other;
}

/// None: the folder is no run of this user.
std::optional<PastRun> past_run(const std::string& folder, std::string_view name) {
    const std::string path = folder + "/" + std::string(name);
    struct stat about {};
    if (lstat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != geteuid()) return std::nullopt;
    if (!is_run(path) && !is_run_of_hosts(path)) return std::nullopt;
    return PastRun{std::string(name), std::int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec};
}

}  // namespace

std::vector<std::string> oldest_runs(std::vector<PastRun> runs, std::size_t keep) {
    if (runs.size() <= keep) return {};
    std::ranges::sort(runs, {}, &PastRun::changed_ns);
    std::vector<std::string> names;
    for (std::size_t at = 0; at < runs.size() - keep; ++at) names.push_back(std::move(runs[at].name));
    return names;
}

bool is_run_below_log_dir(std::string_view name) { return ends_in_random_letters(name, '_'); }

bool is_run_in_tmpdir(std::string_view name) {
    return name.starts_with("dlaunch-2") && ends_in_random_letters(name, '-');
}

bool has_title(std::string_view run, std::string_view title) {
    constexpr std::size_t kBegin = std::string_view("dlaunch-20261122-191548-").size(), kEnd = kRandom + 1;
    const std::size_t begin = is_run_in_tmpdir(run) ? kBegin : 0;
    return run.size() > begin + kEnd && run.substr(begin, run.size() - kEnd - begin) == safe_file_name(title);
}

bool is_run(const std::string& folder) {
    return has_only(folder, [](std::string_view name) { return name.starts_with("attempt_"); });
}

bool is_run_of_hosts(const std::string& folder) {
    return has_only(folder, [&](std::string_view name) { return is_run(fmt::format("{}/{}", folder, name)); });
}

std::vector<PastRun> past_runs(const std::string& folder, bool (*has_name_of_run)(std::string_view name)) {
    std::vector<PastRun> runs;
    for_each_entry(folder, [&](std::string_view name) {
        if (!has_name_of_run(name)) return true;
        if (auto run = past_run(folder, name)) runs.push_back(std::move(*run));
        return true;
    });
    return runs;
}

void remove_old_runs(const std::string& folder, std::size_t keep, bool (*has_name_of_run)(std::string_view name)) {
    for (const std::string& name : oldest_runs(past_runs(folder, has_name_of_run), keep)) {
        const std::string path = folder + "/" + name;
        const base::UniqueFd lock = hold_folder(path);
        std::error_code kept;
        if (lock) std::filesystem::remove_all(path, kept);
    }
}

}  // namespace dlaunch::agent
