#include "rendezvous/discovery/folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "rendezvous/base/files.hpp"
#include "rendezvous/base/random.hpp"
#include "rendezvous/discovery/fixed.hpp"
#include "rendezvous/discovery/folder_claim.hpp"
#include "rendezvous/net/addresses.hpp"
#include "rendezvous/net/probe.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr auto kAnswerIn = Milliseconds(1'000);
constexpr auto kClosedPort = Milliseconds(1'000);  // two renewals of a living owner
constexpr auto kLookAgain = Milliseconds(100);
constexpr std::size_t kLongestName = 100;

}  // namespace

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

base::Error FolderDiscovery::failed(const char* what, const std::string& why) const {
    return {fmt::format("--rdzv-endpoint: {} file://{}: {}, expected a folder that all nodes share and may write to",
                        what, question_.at.folder, why)};
}

std::string FolderDiscovery::content(const Endpoint& place) const {
    return fmt::format("{}\nhost {}\npid {}\nclaim {:016x}\n", place.text(), question_.host_name, getpid(),
                       base::random_number());
}

base::Result<std::optional<FolderDiscovery::Latest>> FolderDiscovery::latest() const {
    const std::string first = claim_path(question_.at.folder, question_.job_id, 0);
    const auto numbers = claims_in(first.substr(0, first.size() - 1));
    if (!numbers) return failed("cannot read", numbers.error().text);
    if (numbers->empty()) return std::optional<Latest>();
    Latest found;
    found.number = *std::ranges::max_element(*numbers);
    found.path = claim_path(question_.at.folder, question_.job_id, found.number);
    const std::string text = base::text_of(found.path);
    if (auto place = parse_endpoints(text.substr(0, text.find('\n')), 0); place && place->places.size() == 1)
        found.place = place->places.front();
    return std::optional<Latest>(found);
}

/// Time since this object last saw the claim change; Milliseconds::max() for a claim that is released or gone.
Milliseconds FolderDiscovery::unchanged_for(const Latest& claim) {
    const Time now = std::chrono::steady_clock::now();
    const auto renewed = renewed_at(claim.path);
    if (!renewed || is_released(*renewed)) return Milliseconds::max();
    const bool is_same = seen_.number == claim.number && seen_.renewed.tv_sec == renewed->tv_sec &&
                         seen_.renewed.tv_nsec == renewed->tv_nsec;
    if (!is_same) seen_ = {claim.number, *renewed, now};
    return std::chrono::duration_cast<Milliseconds>(now - seen_.since);
}

bool FolderDiscovery::is_vacant() {
    const auto there = latest();
    if (!there) return false;  // an unreadable folder proves nothing
    return !*there || unchanged_for(**there) >= claim_dies_after(question_.node_timeout);
}

bool FolderDiscovery::is_gone() {
    const auto there = latest();
    return there && !*there;
}

/// Watches the claim until it is renewed, answers, or has not changed for long enough.
bool FolderDiscovery::is_dead(const Latest& claim) {
    using Kind = Answer::Kind;
    (void)unchanged_for(claim);
    for (const Time first_seen = seen_.since;;) {
        const Answer answer =
            claim.place.port ? probe(claim.place.host, claim.place.port, question_.version, question_.job_id, kAnswerIn)
                             : Answer{Kind::closed_port, {}};
        const auto unchanged = unchanged_for(claim);
        if (unchanged == Milliseconds::max()) return true;
        if (answer.kind == Kind::coordinator || seen_.since != first_seen) return false;
        const auto patience = answer.kind == Kind::closed_port ? kClosedPort : claim_dies_after(question_.node_timeout);
        if (unchanged >= patience) return true;
        std::this_thread::sleep_for(kLookAgain);
    }
}

/// Writes a file like a claim under another name, because a full disk shows only on a write.
base::Result<void> FolderDiscovery::try_to_write(const Endpoint& place) const {
    const std::string path = fmt::format("{}.check.{}.{:x}", claim_path(question_.at.folder, question_.job_id, 0),
                                         question_.host_name, getpid());
    auto written = create_whole(path, content(place));
    if (!written) return failed("cannot write to", written.error().text);
    unlink(path.c_str());
    return {};
}

base::Result<Found> FolderDiscovery::find() {
    for (;;) {
        auto there = latest();
        if (!there && known_epoch_ > 0) {  // the folder existed when this node joined
            mkdir(question_.at.folder.c_str(), 0777);
            there = latest();
        }
        if (!there) return there.error();
        const std::uint64_t number = *there ? (*there)->number : 0;
        if (number && !is_dead(**there)) {
            auto again = latest();  // the claim may have changed meanwhile
            if (!again) return again.error();
            if (!*again || (*again)->number != number) continue;
            const Endpoint& place = (*there)->place;
            Found found{{{place, place.host}}, std::nullopt};
            found.epoch = epoch_of_claim(number);
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
        auto taken = take_over(std::move(found), number);
        if (!taken) return taken.error();
        if (taken->listener) return std::move(*taken);
    }
}

/// Claims the number after the latest and after all that this node has seen. Without a listener: another node was
/// first.
base::Result<Found> FolderDiscovery::take_over(Found found, std::uint64_t after) {
    auto listener = store::open_listener(found.bind_to, 0);
    if (!listener) return listener.error();
    const Endpoint place{found.bind_to, listener->port};
    const std::uint64_t number = std::max(after, claim_of_epoch(known_epoch_)) + 1;
    HeldClaim claim{claim_path(question_.at.folder, question_.job_id, number), content(place), number};
    auto first = create_whole(claim.path, claim.content);
    if (!first) return failed("cannot write to", first.error().text);
    if (!*first) return found;
    for (std::uint64_t old = after; old > 0; --old)
        if (unlink(claim_path(question_.at.folder, question_.job_id, old).c_str()) != 0) break;
    found.places = {{place, found.bind_to}};
    found.listener = std::move(*listener);
    found.claim = std::move(claim);
    found.epoch = epoch_of_claim(number);
    found.succeeds = after > 0 || known_epoch_ > 0;
    return found;
}

}  // namespace dlaunch::rendezvous
