#pragma once
/// Nodes that share a folder meet by it: who comes first claims the job with a file there, and hosts the coordinator.
///
/// A claim is a file `dlaunch-<job>.<number>`; the highest number counts. It appears whole, by link(2), which only one
/// of several can do for one name, on NFS too. Its owner touches it twice a second. A claim is dead when no coordinator
/// of the job answers at its place and nobody has touched it for the node time-out (for a second where the machine says
/// that the port is closed): no clocks of two machines are compared. A dead claim is followed by one with the next
/// number, and then removed. An owner that finds a higher number than its own was taken for dead, and must end.

#include <atomic>

#include "rendezvous/discovery/discovery.hpp"

namespace dlaunch::rendezvous {

class FolderDiscovery : public Discovery {
public:
    explicit FolderDiscovery(Question question) : question_(std::move(question)) {}

    [[nodiscard]] base::Result<Found> find() override;
    [[nodiscard]] bool must_be_kept() const override { return own_ != 0; }
    [[nodiscard]] bool keep() override;
    void withdraw() override;

private:
    struct Claim;

    [[nodiscard]] std::string path_of(int number) const;
    [[nodiscard]] base::Result<std::optional<Claim>> latest() const;
    [[nodiscard]] bool is_dead(const Claim& claim) const;
    [[nodiscard]] base::Result<bool> write_whole(const std::string& path, const Endpoint& place) const;
    [[nodiscard]] base::Result<bool> claim(int number, const Endpoint& place);
    [[nodiscard]] base::Result<void> try_to_write(const Endpoint& place) const;

    Question question_;
    std::atomic<int> own_ = 0;  ///< number of this node's claim; 0: none
};

/// A job id as a part of a file name, different for different ids.
[[nodiscard]] std::string file_name_of_job(const std::string& job_id);

}  // namespace dlaunch::rendezvous
