#pragma once
/// Discovery by a shared folder: the first node claims the job with a file there, and hosts the coordinator.
///
/// A claim is a file `dlaunch-<job>.<number>`; the highest number counts, and no number is used twice. Its content
/// names the place and the owner, which touches the file twice a second (folder_claim.hpp). A claim is dead when the
/// owner has released it, or has not touched it for half of the node time-out (for a second if its port refuses
/// connections). The observer times this by its own clock; clocks of two machines are never compared. A successor
/// claims the next number, then removes the dead claim. An owner that finds a number above its own, or another content,
/// must stop acting.

#include <algorithm>
#include <atomic>
#include <ctime>

#include "rendezvous/discovery/discovery.hpp"

namespace dlaunch::rendezvous {

class FolderDiscovery : public Discovery {
public:
    explicit FolderDiscovery(Question question) : question_(std::move(question)), known_epoch_(question_.known_epoch) {}

    [[nodiscard]] base::Result<Found> find() override;
    [[nodiscard]] bool moves() const override { return true; }
    [[nodiscard]] bool is_vacant() override;
    [[nodiscard]] bool is_gone() override;
    void learn(std::uint64_t epoch) override { known_epoch_ = std::max(known_epoch_.load(), epoch); }

private:
    struct Latest {
        std::uint64_t number = 0;
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
    [[nodiscard]] base::Result<std::optional<Latest>> latest() const;
    [[nodiscard]] Milliseconds unchanged_for(const Latest& claim);
    [[nodiscard]] bool is_dead(const Latest& claim);
    [[nodiscard]] base::Result<Found> take_over(Found found, std::uint64_t after);
    [[nodiscard]] std::string content(const Endpoint& place) const;
    [[nodiscard]] base::Result<void> try_to_write(const Endpoint& place) const;

    Question question_;
    std::atomic<std::uint64_t> known_epoch_ = 0;
    Seen seen_;
};

/// Encodes a job id for a file name; different ids have different names.
[[nodiscard]] std::string file_name_of_job(const std::string& job_id);

}  // namespace dlaunch::rendezvous
