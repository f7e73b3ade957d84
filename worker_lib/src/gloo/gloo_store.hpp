#pragma once

#include <gloo/rendezvous/store.h>

#include <span>
#include <string>
#include <vector>

#include "worker_lib/src/bootstrap/bootstrap.hpp"
#include "worker_lib/src/core/backend.hpp"

namespace dlaunch::worker::gloo_backend {

/// The group's store as Gloo's, for connectFullMesh(). Uses the group's deadline instead of Gloo's time-outs.
///
/// Gloo lets each of n ranks publish its n-1 addresses as one value, reads all values in full, and asks for each one
/// separately, and for each host name. Here a rank publishes each address under a key of its own, and reads in one
/// request those that are meant for it: O(n) bytes per rank instead of O(n^2). Host names are those of the members.
class GlooStore final : public gloo::rendezvous::Store {
public:
    /// `peer`: set to the rank to which Gloo currently connects, for error texts. All references must outlive this.
    GlooStore(const GroupInfo& group, std::span<const Member> members, StoreHandle store, Time deadline, int& peer)
        : group_(group), members_(members), store_(std::move(store)), deadline_(deadline), peer_(peer) {}

    void set(const std::string& key, const std::vector<char>& data) override;
    std::vector<char> get(const std::string& key) override;
    void wait(const std::vector<std::string>& keys) override;
    void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override { wait(keys); }

private:
    [[nodiscard]] const Member& own() const { return members_[static_cast<std::size_t>(group_.rank)]; }
    void read_addresses();
    [[noreturn]] void fail_without(std::vector<int> ranks, Time began) const;

    const GroupInfo& group_;
    const std::span<const Member> members_;
    const StoreHandle store_;
    const Time deadline_;
    int& peer_;
    std::vector<char> own_host_;          ///< as Gloo calls it
    bool has_split_ = false;              ///< the own addresses have been published one by one
    std::vector<std::string> addresses_;  ///< for this rank, by publisher
};

}  // namespace dlaunch::worker::gloo_backend
