#pragma once
/// Lines about clients that were refused for their token, at most one a minute for an address. No I/O, no clock.

#include <map>
#include <string>

#include "rendezvous/base/loop.hpp"
#include "rendezvous/store/server/server.hpp"

namespace dlaunch::rendezvous {

class StrangerLines {
public:
    static constexpr base::Duration kPause = std::chrono::minutes(1);
    static constexpr std::size_t kMostAddresses = 256;  ///< in a minute; later ones have one line together

    /// Empty: this address has had its line.
    [[nodiscard]] std::string line(base::Time now, const std::string& address, store::Stranger kind);

private:
    std::map<std::string, base::Time> latest_;  ///< by address; the empty one stands for those over the limit
};

}  // namespace dlaunch::rendezvous
