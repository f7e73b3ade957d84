#pragma once
/// Discovery by a shared folder: the first node claims the job with a file in the folder, and hosts the coordinator.
///
/// A claim is a file `dlaunch-<job>.<number>`; the highest number counts. Its content names the address, the epoch and
/// the owner, which touches the file twice a second (folder_claim.hpp). A claim is dead when the owner has released it,
/// or has not touched it for half of the node time-out (for a second if its port refuses connections). Each observer
/// measures this with its own clock; clocks of two machines are never compared. A successor claims the next number,
/// then removes the dead claim. An owner that finds a number above its own, or another content, must stop serving.
///
/// A folder may be emptied under a living job. Then the owner and newcomers compete for the first number. Other nodes
/// of the job treat the missing claim as dead only when the owner may no longer claim again. No epoch is used twice,
/// because an epoch is at least the time of its claim.

#include <ctime>
#include <mutex>
#include <optional>
#include <string>

#include "rendezvous/discovery/handed_over.hpp"
#include "rendezvous/discovery/moving.hpp"

namespace dlaunch::rendezvous {

class FolderDiscovery : public MovingDiscovery {
public:
    explicit FolderDiscovery(DiscoveryRequest request);

    [[nodiscard]] base::Result<DiscoveryResult> find() override;
    [[nodiscard]] bool is_vacant() override;
    [[nodiscard]] bool stays_gone() override;
    [[nodiscard]] bool may_be_vacant() override;

private:
    struct Latest {
        std::uint64_t number = 0;
        std::uint64_t epoch = 0;
        std::string path;
        Endpoint place;
    };
    /// The latest change of a claim that this object has seen.
    struct Seen {
        std::uint64_t number = 0;
        timespec renewed{};
        Time since;
    };

    [[nodiscard]] base::Error failed(const char* what, const std::string& why) const;
    [[nodiscard]] base::Result<std::optional<Latest>> latest();
    [[nodiscard]] Milliseconds unchanged_for(const Latest& claim);
    [[nodiscard]] bool is_missing() const;
    [[nodiscard]] bool is_gone();
    [[nodiscard]] Time last_change() const;
    [[nodiscard]] bool is_dead(const Latest& claim);
    [[nodiscard]] base::Result<DiscoveryResult> take_over(DiscoveryResult found, const Latest& after);
    [[nodiscard]] static std::optional<HandedOver> released_as(const Latest& claim);
    [[nodiscard]] std::string content(const Endpoint& place, std::uint64_t epoch) const;
    [[nodiscard]] base::Result<void> try_to_write(const Endpoint& place) const;

    const DiscoveryRequest request_;
    const std::string prefix_;       ///< of the claims' paths
    mutable std::mutex seen_mutex_;  ///< a standby's look and a find() may overlap while the file server is slow
    Seen seen_;
    std::optional<Time> missing_since_;  ///< the first look without a claim after the latest look with one
};

}  // namespace dlaunch::rendezvous
