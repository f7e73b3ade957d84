#include "agent/logs/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "agent/logs/old_runs.hpp"
#include "agent/process/leftovers.hpp"
#include "rendezvous/base/random.hpp"
#include "rendezvous/base/utc.hpp"

namespace dlaunch::agent {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

namespace {

constexpr int kKeptInTmpdir = 20;

Error cannot_make(const std::string& path, int error, std::string_view named_by = "--log-dir") {
    return {fmt::format("log directory {}: {}; name one that can be written with {}", path, std::strerror(error),
                        named_by)};
}

const std::string kLatest = "latest";

std::string random_name() {
    static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz012345";
    std::string name;
    for (std::uint64_t rest = base::random_number(); name.size() < 8; rest >>= 5)
        name += kLetters[rest % kLetters.size()];
    return name;
}

}  // namespace

std::string safe_file_name(std::string_view text) {
    static constexpr std::size_t kMostBytes = 100;
    static constexpr std::string_view kFine = "-_.+=,@%~";
    const auto is_continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    if (text.size() > kMostBytes) {
        std::size_t end = kMostBytes;
        while (end > 0 && is_continuation(text[end])) --end;
        text = text.substr(0, end);
    }
    std::string name;
    for (char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        const bool utf8 = static_cast<unsigned char>(c) >= 0x80;
        name += plain || utf8 || kFine.find(c) != std::string_view::npos ? c : '_';
    }
    if (name.empty()) return "_";
    if (name[0] == '.') name[0] = '_';
    return name;
}

Result<void> RunDirectory::make(const Wanted& wanted) {
    const std::string& log_directory = wanted.plan.directory;
    keep_runs_ = wanted.plan.keep_runs;
    if (log_directory.empty()) {
        parent_ = wanted.temporary.empty() ? "/tmp" : wanted.temporary;
        if (!wanted.plan.keeps_files()) return make_error_folder(parent_);
        if (keep_runs_ == 0) keep_runs_ = kKeptInTmpdir;
        const std::string date = base::utc_file_name(std::chrono::system_clock::now());
        auto name =
            make_run_folder(parent_, fmt::format("dlaunch-{}-{}-", date, safe_file_name(wanted.program)), "TMPDIR");
        if (!name) return name.error();
        invented_ = paths_.folder();
        return {};
    }
    std::error_code error;
    fs::path absolute = fs::absolute(log_directory, error);
    if (error) return cannot_make(log_directory, error.value());
    fs::create_directories(absolute, error);
    const bool leads_nowhere = error == std::errc::file_exists;  // only a dangling link causes this error
    if (error) return cannot_make(log_directory, leads_nowhere ? ENOENT : error.value());
    parent_ = absolute.string();
    auto name = make_run_folder(parent_, safe_file_name(wanted.job_id) + "_", "--log-dir");
    if (!name) return name.error();
    const std::string of_host = wanted.host.empty() ? "" : "latest-" + safe_file_name(wanted.host);
    bool is_linked = link_latest(parent_, kLatest, *name);
    if (!of_host.empty()) is_linked = link_latest(parent_, of_host, *name);
    const std::string& link = of_host.empty() ? kLatest : of_host;
    if (is_linked) paths_.set_short_name((fs::path(log_directory) / link).string());
    return {};
}

Result<void> RunDirectory::make_error_folder(const std::string& temporary) {
    std::string path = temporary + "/dlaunch_XXXXXX";
    if (!mkdtemp(path.data())) return cannot_make(path, errno, "TMPDIR");
    invented_ = path;
    paths_ = {path, false};
    lock_ = hold_folder(path);
    return {};
}

/// Returns the name of the new folder: `begin` and random characters.
Result<std::string> RunDirectory::make_run_folder(const std::string& parent, const std::string& begin,
                                                  std::string_view named_by) {
    const std::string separator = parent.ends_with('/') ? "" : "/";
    for (;;) {
        const std::string name = begin + random_name();
        const std::string path = fmt::format("{}{}{}", parent, separator, name);
        // For the owner alone, as with torchrun: logs may hold secrets.
        if (mkdir(path.c_str(), 0700) != 0) {
            if (errno == EEXIST) continue;
            return cannot_make(path, errno, named_by);
        }
        paths_ = {path, true};
        lock_ = hold_folder(path);
        return base::text_result(name);
    }
}

bool RunDirectory::link_latest(const std::string& log_directory, const std::string& link, const std::string& name) {
    const std::string latest = log_directory + "/" + link;
    struct stat found {};
    const std::string fresh = log_directory + "/." + link + "_" + name;
    int error = 0;
    if (lstat(latest.c_str(), &found) == 0 && !S_ISLNK(found.st_mode)) {
        error = EEXIST;  // a file of the user
    } else if (symlink(name.c_str(), fresh.c_str()) != 0 || std::rename(fresh.c_str(), latest.c_str()) != 0) {
        error = errno;
        unlink(fresh.c_str());
    }
    if (error) warnings_.add("log directory", error, latest, "there is no link to the latest run");
    return error == 0;
}

void RunDirectory::make_attempt(int number, bool with_links) {
    if (!paths_.has_tree() || number == attempt_number_) return;
    attempt_number_ = number;
    const std::string path = paths_.attempt(number);
    if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) warnings_.about_files(errno, path);
    attempt_.reset(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (attempt_ && with_links && mkdirat(attempt_.get(), "by-rank", 0777) != 0 && errno != EEXIST)
        warnings_.about_files(errno, path + "/by-rank");
}

void RunDirectory::make_worker(int local_rank, const std::string& link) {
    if (!attempt_) return;
    const std::string name = RunPaths::name_of(local_rank);
    if (mkdirat(attempt_.get(), name.c_str(), 0777) != 0 && errno != EEXIST)
        warnings_.about_files(errno, paths_.worker(attempt_number_, local_rank));
    if (link.empty()) return;
    if (symlinkat(("../" + name).c_str(), attempt_.get(), ("by-rank/" + safe_file_name(link)).c_str()) != 0 &&
        errno != EEXIST)
        warnings_.about_files(errno, paths_.attempt(attempt_number_) + "/by-rank");
}

void RunDirectory::remove() {
    if (invented_.empty()) return;
    std::error_code ignored;
    if (::rmdir(invented_.c_str()) != 0) fs::remove_all(invented_, ignored);  // usually empty
    invented_.clear();
    paths_ = {};
}

void RunDirectory::close() {
    remove_old_runs();
    lock_.reset();
}

/// A job without files has no run to keep.
void RunDirectory::remove_old_runs() const {
    if (!paths_.has_tree() || !lock_ || keep_runs_ == 0) return;
    futimens(lock_.get(), nullptr);
    agent::remove_old_runs(parent_, static_cast<std::size_t>(keep_runs_),
                           is_temporary() ? is_run_in_tmpdir : is_run_below_log_dir);
}

}  // namespace dlaunch::agent
