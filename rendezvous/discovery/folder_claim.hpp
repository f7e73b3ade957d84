#pragma once
/// A claim as a file of a folder that all nodes share. See folder.hpp.

#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/result.hpp"
#include "rendezvous/discovery/claim.hpp"

namespace dlaunch::rendezvous {

class FolderClaim : public Claim {
public:
    explicit FolderClaim(HeldClaim held) : held_(std::move(held)), held_at_(std::chrono::steady_clock::now()) {}

    [[nodiscard]] State renew() override;
    void release(bool job_is_over) override;

private:
    [[nodiscard]] State claim_again();
    [[nodiscard]] bool is_last() const;

    HeldClaim held_;
    Time held_at_;  ///< when it was known to be held
};

/// The file of the job's claim with this number.
[[nodiscard]] std::string claim_path(const std::string& folder, const std::string& job_id, std::uint64_t number);
/// The numbers of the job's claims in its folder, in any order; an Error with errno's text where it cannot be read.
[[nodiscard]] base::Result<std::vector<std::uint64_t>> claims_in(const std::string& prefix);
/// A whole file or none appears under `path`. False: another process was first.
[[nodiscard]] base::Result<bool> create_whole(const std::string& path, const std::string& content);
/// The time of the latest renewal, by the clock of the folder's file server; nothing where there is no such file.
[[nodiscard]] std::optional<timespec> renewed_at(const std::string& path);
/// A claim that its owner has released, for another process to take at once.
[[nodiscard]] inline bool is_released(const timespec& renewed) { return renewed.tv_sec == 1; }

}  // namespace dlaunch::rendezvous
