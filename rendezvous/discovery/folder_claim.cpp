#include "rendezvous/discovery/folder_claim.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/discovery/claim_text.hpp"
#include "rendezvous/discovery/handed_over.hpp"
#include "rendezvous/discovery/part_file.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr timespec kReleased{1, 0};

/// A claim's path without its number.
std::string prefix_of(const std::string& path) { return path.substr(0, path.find_last_of('.') + 1); }

}  // namespace

std::string claim_prefix(const std::string& folder, const std::string& job_id) {
    return fmt::format("{}/dlaunch-{}.", folder, file_name_of_job(job_id));
}

base::Result<std::vector<std::uint64_t>> claims_in(const std::string& prefix) {
    const auto slash = prefix.find_last_of('/');
    const std::string folder = prefix.substr(0, slash), begin = prefix.substr(slash + 1);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
    if (!entries) return base::Error{std::strerror(errno)};
    std::vector<std::uint64_t> numbers;
    while (const dirent* entry = readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (!name.starts_with(begin)) continue;
        const std::string_view rest = name.substr(begin.size());
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        if (error == std::errc() && end == rest.data() + rest.size()) numbers.push_back(number);
    }
    return numbers;
}

base::Result<bool> create_claim(const std::string& path, const ContentAt& content_at) {
    PartFile part(prefix_of(path));
    if (auto created = part.create(); !created) return created.error();
    if (auto written = part.write(content_at(part.created_at_ms())); !written) return written.error();
    return part.link_as(path);
}

/// Opens the file: NFS revalidates cached attributes at an open.
std::optional<timespec> renewed_at(const std::string& path) {
    struct stat about {};
    const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || fstat(file.get(), &about) != 0) return std::nullopt;
    return about.st_mtim;
}

bool FolderClaim::is_last() const {
    const auto all = claims_in(prefix_of(held_.path));
    return !all || std::ranges::none_of(*all, [&](std::uint64_t number) { return number > held_.number; });
}

/// Touches the file, which works on a full disk, too.
Claim::State FolderClaim::renew() {
    const Time now = std::chrono::steady_clock::now();
    const base::UniqueFd file(open(held_.path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file) return errno == ENOENT ? claim_again() : State::unknown;
    if (base::text_of(held_.path) != held_.content || !is_last()) return State::lost;
    if (futimens(file.get(), nullptr) != 0) return State::unknown;
    held_at_ = now;
    return State::held;
}

/// The folder was emptied or removed under a valid claim. The owner still serves, so it competes with newcomers for the
/// first number. An earlier process of this coordinator may have claimed it already.
Claim::State FolderClaim::claim_again() {
    const Time now = std::chrono::steady_clock::now();
    if (now - held_at_ > kMayClaimAgain) return State::lost;
    const std::string prefix = prefix_of(held_.path);
    mkdir(prefix.substr(0, prefix.find_last_of('/')).c_str(), 0777);
    const auto others = claims_in(prefix);
    if (!others) return State::unknown;
    const std::string first = prefix + "1";
    if (others->empty()) {
        const auto created = create_claim(first, [this](std::int64_t) { return held_.content; });
        if (!created) return State::unknown;
        if (!*created) return State::lost;
    } else if (std::ranges::max(*others) != 1 || base::text_of(first) != held_.content) {
        return State::lost;
    }
    held_ = {first, held_.content, 1};
    held_at_ = now;
    return State::held;
}

void FolderClaim::remove() {
    if (base::text_of(held_.path) == held_.content) unlink(held_.path.c_str());
}

/// The file's time marks the claim as free: sets the time after the content.
void FolderClaim::release(const std::string& snapshot) {
    const base::UniqueFd file(open(held_.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!file || base::text_of(held_.path) != held_.content) return;
    struct stat about {};
    if (!snapshot.empty() && futimens(file.get(), nullptr) == 0 && fstat(file.get(), &about) == 0)
        static_cast<void>(base::write_all(file.get(), record_line(modified_at_ms(about), snapshot)));
    const timespec times[] = {kReleased, kReleased};
    futimens(file.get(), times);
}

}  // namespace dlaunch::rendezvous
