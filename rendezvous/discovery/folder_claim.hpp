#pragma once
/// A claim as a file in a shared folder. See folder.hpp.

#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/result.hpp"
#include "rendezvous/discovery/claim.hpp"

namespace dlaunch::rendezvous {

class FolderClaim : public Claim {
public:
    explicit FolderClaim(FolderSeat held) : held_(std::move(held)), held_at_(held_.asked) {}

    [[nodiscard]] State renew() override;
    void remove() override;
    void release(const std::string& snapshot) override;

private:
    [[nodiscard]] State claim_again();
    [[nodiscard]] bool is_last() const;

    FolderSeat held_;
    Time held_at_;  ///< start of the latest successful renewal
};

/// The path of the job's claims without their numbers.
[[nodiscard]] std::string claim_prefix(const std::string& folder, const std::string& job_id);
/// The numbers of the job's claims in its folder, in any order; an Error with errno's text if the folder cannot be
/// read.
[[nodiscard]] base::Result<std::vector<std::uint64_t>> claims_in(const std::string& prefix);
/// The content of a claim that is created at this time: milliseconds since 1970 by the file server's clock.
using ContentAt = std::function<std::string(std::int64_t now_ms)>;
/// Creates the file atomically with its content. False: another process was first.
[[nodiscard]] base::Result<bool> create_claim(const std::string& path, const ContentAt& content_at);
/// Time of the latest renewal by the file server's clock; none if there is no such file.
[[nodiscard]] std::optional<timespec> renewed_at(const std::string& path);
/// Whether the owner has released the claim, so that another process may take it at once.
[[nodiscard]] inline bool is_released(const timespec& renewed) { return renewed.tv_sec == 1; }

}  // namespace dlaunch::rendezvous
