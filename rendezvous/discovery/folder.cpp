#include "rendezvous/discovery/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/discovery/fixed.hpp"
#include "rendezvous/net/addresses.hpp"
#include "rendezvous/net/probe.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr auto kAnswerIn = Milliseconds(1'000);
constexpr auto kClosedPort = Milliseconds(1'000);  // two touches of a living owner
constexpr auto kLookAgain = Milliseconds(100);
constexpr std::size_t kLongestName = 100;
constexpr int kNoClaim = 1'000'000'000;  // so many claims there are never

base::Error failed(const std::string& folder, const char* what) {
    const int number = errno;
    return {fmt::format("--rdzv-endpoint: {} file://{}: {}, expected a folder that all nodes share and may write to",
                        what, folder, std::strerror(number))};
}

/// When the file was touched last, by the clock of whoever keeps the folder. An open asks a server anew.
timespec touched(const std::string& path) {
    struct stat about {};
    const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || fstat(file.get(), &about) != 0) return {};
    return about.st_mtim;
}

}  // namespace

struct FolderDiscovery::Claim {
    int number = 0;
    std::string path;
    Endpoint place;
};

std::string file_name_of_job(const std::string& job_id) {
    std::string name;
    std::uint64_t hash = 14'695'981'039'346'656'037U;  // FNV-1a
    for (const char c : job_id) {
        const auto byte = static_cast<unsigned char>(c);
        hash = (hash ^ byte) * 1'099'511'628'211U;
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        name += plain ? std::string(1, c) : fmt::format("-{:02x}", byte);
    }
    if (name.size() <= kLongestName) return name;
    return fmt::format("{}-{:016x}", name.substr(0, kLongestName), hash);
}

std::string FolderDiscovery::path_of(int number) const {
    return fmt::format("{}/dlaunch-{}.{}", question_.at.folder, file_name_of_job(question_.job_id), number);
}

base::Result<std::optional<FolderDiscovery::Claim>> FolderDiscovery::latest() const {
    const std::string& folder = question_.at.folder;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
    if (!entries) return failed(folder, "cannot read");
    const std::string begin = fmt::format("dlaunch-{}.", file_name_of_job(question_.job_id));
    Claim found;
    while (const dirent* entry = readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (!name.starts_with(begin)) continue;
        const std::string_view rest = name.substr(begin.size());
        int number = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        if (error != std::errc() || end != rest.data() + rest.size() || number >= kNoClaim) continue;
        found.number = std::max(found.number, number);
    }
    if (found.number == 0) return std::optional<Claim>();
    found.path = path_of(found.number);
    const std::string text = base::text_of(found.path);
    if (auto place = parse_endpoints(text.substr(0, text.find('\n')), 0); place && place->places.size() == 1)
        found.place = place->places.front();
    return std::optional<Claim>(found);
}

/// Watches it for as long as that takes.
bool FolderDiscovery::is_dead(const Claim& claim) const {
    const timespec before = touched(claim.path);
    const Time began = std::chrono::steady_clock::now();
    for (;;) {
        const Answer answer =
            claim.place.port ? probe(claim.place.host, claim.place.port, question_.version, question_.job_id, kAnswerIn)
                             : Answer{Answer::Kind::nobody, {}};
        if (answer.kind == Answer::Kind::coordinator) return false;
        const auto patience = answer.kind == Answer::Kind::nobody ? kClosedPort : question_.node_timeout;
        const timespec now = touched(claim.path);
        if (now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec) return false;  // or it was removed
        if (std::chrono::steady_clock::now() - began >= patience) return true;
        std::this_thread::sleep_for(kLookAgain);
    }
}

/// Under the name `path` there is a whole file or none. False: somebody else was faster.
base::Result<bool> FolderDiscovery::write_whole(const std::string& path, const Endpoint& place) const {
    const std::string& folder = question_.at.folder;
    std::string part = path + ".part.XXXXXX";  // containers may have host names and pids in common
    {
        const base::UniqueFd file(mkostemp(part.data(), O_CLOEXEC));
        const std::string text = fmt::format("{}\nhost {}\npid {}\n", place.text(), question_.host_name, getpid());
        if (!file || fchmod(file.get(), 0644) != 0 ||
            write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
            fsync(file.get()) != 0) {
            auto error = failed(folder, "cannot write to");
            if (file) unlink(part.c_str());
            return error;
        }
    }
    const bool first = link(part.c_str(), path.c_str()) == 0;
    const int error = errno;
    unlink(part.c_str());
    errno = error;
    if (!first && errno != EEXIST) return failed(folder, "cannot make a hard link in");
    return first;
}

base::Result<bool> FolderDiscovery::claim(int number, const Endpoint& place) {
    auto first = write_whole(path_of(number), place);
    if (first && *first) own_ = number;
    return first;
}

/// As a claim would be made, under a name that is none: a full disk shows only when something is written.
base::Result<void> FolderDiscovery::try_to_write(const Endpoint& place) const {
    const std::string path = fmt::format("{}.check.{}.{:x}", path_of(kNoClaim), question_.host_name, getpid());
    auto written = write_whole(path, place);
    if (!written) return written.error();
    unlink(path.c_str());
    return {};
}

base::Result<Found> FolderDiscovery::find() {
    for (;;) {
        auto there = latest();
        if (!there) return there.error();
        const int number = *there ? (*there)->number : 0;
        if (number && !is_dead(**there)) {
            auto again = latest();  // it may have gone, or been followed, while we looked
            if (!again) return again.error();
            if (!*again || (*again)->number != number) continue;
            const Endpoint& place = (*there)->place;
            Found found{{{place, place.host}}, std::nullopt, {}, {}, {}};
            auto chosen = choose_address(question_, {}, own_address_towards(place.host), found);
            if (!chosen) return chosen.error();
            return found;
        }
        Found found;
        if (auto chosen = choose_address(question_, {}, {}, found); !chosen) return chosen.error();
        if (found.bind_to.starts_with("127.") && question_.local_addr.empty())
            return base::Error{
                "--rdzv-endpoint: no interface with an address that other nodes could reach, expected "
                "--local-addr"};
        if (question_.only_look) {
            if (auto writable = try_to_write({found.bind_to, 0}); !writable) return writable.error();
            return found;
        }
        auto listener = store::open_listener(found.bind_to, 0);
        if (!listener) return listener.error();
        auto first = claim(number + 1, {found.bind_to, listener->port});
        if (!first) return first.error();
        if (!*first) continue;
        for (int old = number; old > 0 && unlink(path_of(old).c_str()) == 0; --old) {}
        found.places = {{{found.bind_to, listener->port}, found.bind_to}};
        found.listener = std::move(*listener);
        return found;
    }
}

bool FolderDiscovery::keep() {
    if (own_ == 0) return true;
    const base::UniqueFd file(open(path_of(own_).c_str(), O_WRONLY | O_CLOEXEC));
    if (file) futimens(file.get(), nullptr);
    auto there = latest();
    return !there || !*there || (*there)->number <= own_;  // a server that does not answer is no proof
}

void FolderDiscovery::withdraw() {
    if (own_ != 0) unlink(path_of(own_).c_str());
    own_ = 0;
}

}  // namespace dlaunch::rendezvous
