#include "rendezvous/discovery/claim.hpp"

#include <utility>

#include "rendezvous/discovery/etcd_claim.hpp"
#include "rendezvous/discovery/folder_claim.hpp"

namespace dlaunch::rendezvous {

std::unique_ptr<Claim> make_claim(HeldClaim claim) {
    if (auto* folder = std::get_if<FolderSeat>(&claim)) return std::make_unique<FolderClaim>(std::move(*folder));
    return std::make_unique<EtcdClaim>(std::move(std::get<EtcdSeat>(claim)));
}

}  // namespace dlaunch::rendezvous
