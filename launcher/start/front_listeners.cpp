#include "launcher/start/front_listeners.hpp"

#include <algorithm>
#include <utility>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/net/addresses.hpp"

namespace dlaunch::launcher {
namespace {

constexpr int kMostTries = 20;  // another process may use the port at a further address

}  // namespace

std::vector<std::string> front_addresses(const std::vector<std::string>& own, bool only_here, const std::string& named,
                                         std::size_t most) {
    if (!named.empty()) return {named};
    std::vector<std::string> found;
    const auto add = [&](bool version_4) {
        for (const std::string& address : own)
            if (!rendezvous::is_loopback(address) && !address.starts_with("fe80:") &&
                rendezvous::is_version_4(address) == version_4 && found.size() + 1 < most)
                found.push_back(address);
    };
    if (!only_here) add(true), add(false);
    found.emplace_back("127.0.0.1");
    return found;
}

base::Result<std::vector<store::Listener>> listen_at(const std::vector<std::string>& addresses) {
    std::string problem = "no address";
    for (int tries = 0; tries < kMostTries; ++tries) {
        std::vector<store::Listener> found;
        bool is_free = true;
        for (const std::string& address : addresses) {
            auto listener = store::open_listener(address, found.empty() ? 0 : found.front().port);
            if (listener) {
                found.push_back(std::move(*listener));
                continue;
            }
            problem = listener.error().text;
            is_free = is_free && found.empty();
        }
        if (!found.empty() && (is_free || tries + 1 == kMostTries)) return found;
        if (found.empty()) break;
    }
    return base::Error{"the front end cannot listen: " + problem, exit_status::kCannotExecute};
}

}  // namespace dlaunch::launcher
