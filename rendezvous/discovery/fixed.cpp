#include "rendezvous/discovery/fixed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rendezvous/base/address.hpp"
#include "rendezvous/discovery/addresses.hpp"
#include "rendezvous/discovery/folder.hpp"

namespace dlaunch::rendezvous {

std::unique_ptr<Discovery> make_discovery(Question question) {
    if (!question.at.folder.empty()) return std::make_unique<FolderDiscovery>(std::move(question));
    return std::make_unique<FixedDiscovery>(std::move(question));
}

bool Found::nowhere() const {
    return std::all_of(places.begin(), places.end(), [](const Place& place) { return place.address.empty(); });
}

base::Result<void> choose_address(const Question& question, const std::string& own, const std::string& towards,
                                  Found& found) {
    found.bind_to = base::reachable_address();
    if (!question.local_addr.empty()) {
        auto numbers = addresses_of(question.local_addr);
        if (!numbers) return numbers.error().within("--local-addr");
        found.advertised = question.local_addr;
        found.bind_to = numbers->front();
        found.why = "--local-addr names it";
    } else if (!own.empty()) {
        found.advertised = found.bind_to = own;
        found.why = "the endpoint names it";
    } else if (!towards.empty()) {
        found.advertised = found.bind_to = towards;
        found.why = "this node speaks to the endpoint from it";
    } else {
        found.advertised = found.bind_to;
        found.why = "it is the first address of an interface that is up";
    }
    return {};
}

base::Result<Found> FixedDiscovery::find() {
    if (question_.at.places.empty())
        return base::Error{"--rdzv-endpoint: nothing given, expected HOST:PORT, where the nodes meet"};
    Found found;
    const std::vector<std::string> own = own_addresses();
    const std::string reachable = base::reachable_address();
    std::string listen_on, towards;
    for (const Endpoint& each : question_.at.places) {
        auto numbers = addresses_of(each.host);
        if (!numbers || numbers->empty()) {  // it may be known later
            found.places.push_back({each, {}});
            if (found.problem.empty()) found.problem = numbers ? each.host + ": no address" : numbers.error().text;
            continue;
        }
        for (const std::string& number : *numbers) found.places.push_back({each, number});  // it listens at one of them
        if (&each == &question_.at.places.front())
            listen_on = own_address_at(each, *numbers, own, question_.host_name, reachable);
        if (towards.empty()) towards = own_address_towards(numbers->front());
    }
    if (auto chosen = choose_address(question_, listen_on, towards, found); !chosen) return chosen.error();
    const Endpoint& first = question_.at.places.front();
    if (listen_on.empty() && question_.must_host)
        return base::Error{fmt::format("--rdzv-conf: is_host, and {} is no address of this node", first.text())};
    if (listen_on.empty() || !question_.may_host) return found;
    auto listener = store::open_listener(listen_on, first.port);
    if (listener) {
        found.places = {{{listen_on, listener->port}, listen_on}};
        found.listener = std::move(*listener);
    } else if (!listener.error().text.ends_with("Address already in use")) {
        return listener.error().within("--rdzv-endpoint");
    }  // else an agent on this machine came first, or a stranger, which is found out when we speak to it
    return found;
}

}  // namespace dlaunch::rendezvous
