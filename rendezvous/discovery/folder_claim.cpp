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
#include "rendezvous/discovery/folder.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr timespec kReleased{1, 0};
/// After longer without a renewal, another owner may have come and gone.
constexpr auto kMayClaimAgain = 3 * Claim::kRenewEvery;

/// A claim's path without its number.
std::string prefix_of(const std::string& path) { return path.substr(0, path.find_last_of('.') + 1); }

}  // namespace

std::string claim_path(const std::string& folder, const std::string& job_id, std::uint64_t number) {
    return fmt::format("{}/dlaunch-{}.{}", folder, file_name_of_job(job_id), number);
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

/// Uses link(2): for one name only one process succeeds, on NFS too.
base::Result<bool> create_whole(const std::string& path, const std::string& content) {
    std::string part = path + ".part.XXXXXX";  // host name and pid may be equal in two containers
    {
        const base::UniqueFd file(mkostemp(part.data(), O_CLOEXEC));
        if (!file || fchmod(file.get(), 0644) != 0 ||
            write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
            fsync(file.get()) != 0) {
            const base::Error error{std::strerror(errno)};
            if (file) unlink(part.c_str());
            return error;
        }
    }
    const bool first = link(part.c_str(), path.c_str()) == 0;
    const int error = errno;
    unlink(part.c_str());
    if (!first && error != EEXIST) return base::Error{std::string("no hard link: ") + std::strerror(error)};
    return first;
}

/// Opens the file: NFS revalidates cached attributes at an open.
std::optional<timespec> renewed_at(const std::string& path) {
    struct stat about {};
    const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || fstat(file.get(), &about) != 0) return std::nullopt;
    return about.st_mtim;
}

std::unique_ptr<Claim> make_claim(HeldClaim claim) { return std::make_unique<FolderClaim>(std::move(claim)); }

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

/// The folder was emptied or removed under a valid claim. The owner still serves, so it claims the next number.
Claim::State FolderClaim::claim_again() {
    const Time now = std::chrono::steady_clock::now();
    if (now - held_at_ > kMayClaimAgain) return State::lost;
    const std::string prefix = prefix_of(held_.path);
    mkdir(prefix.substr(0, prefix.find_last_of('/')).c_str(), 0777);
    const auto others = claims_in(prefix);
    if (!others) return State::unknown;
    if (!others->empty()) return State::lost;
    const std::uint64_t next = held_.number + 1;
    const auto created = create_whole(prefix + std::to_string(next), held_.content);
    if (!created) return State::unknown;
    if (!*created) return State::lost;
    held_ = {prefix + std::to_string(next), held_.content, next};
    held_at_ = now;
    return State::held;
}

void FolderClaim::release(bool job_is_over) {
    if (base::text_of(held_.path) != held_.content) return;
    if (job_is_over) {
        unlink(held_.path.c_str());
        return;
    }
    const timespec times[] = {kReleased, kReleased};
    utimensat(AT_FDCWD, held_.path.c_str(), times, 0);
}

}  // namespace dlaunch::rendezvous
