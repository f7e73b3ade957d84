#include "rendezvous/discovery/fixed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "rendezvous/base/address.hpp"
#include "rendezvous/discovery/etcd.hpp"
#include "rendezvous/discovery/folder.hpp"
#include "rendezvous/net/addresses.hpp"
#include "rendezvous/net/port_owner.hpp"
#include "rendezvous/net/probe.hpp"

namespace dlaunch::rendezvous {
namespace {

using Kind = Answer::Kind;

constexpr auto kAnswerIn = Milliseconds(1'000);
constexpr auto kHeldFor = Milliseconds(500);  // by a process that is about to listen, or about to exit
constexpr auto kLookAgain = Milliseconds(50);

void add_of_its_version(std::vector<std::string>& all, std::string address) {
    const auto is_like = [&](const std::string& one) { return is_version_4(one) == is_version_4(address); };
    if (!address.empty() && std::none_of(all.begin(), all.end(), is_like)) all.push_back(std::move(address));
}

std::string silent_owner_of(int port) {
    const std::string owner = port_owner(port);
    return owner.empty() ? "a process that does not answer" : owner + ", which does not answer";
}

}  // namespace

std::unique_ptr<Discovery> make_discovery(DiscoveryRequest request) {
    if (!request.at.etcd.members.empty()) return std::make_unique<EtcdDiscovery>(std::move(request));
    if (!request.at.folder.empty()) return std::make_unique<FolderDiscovery>(std::move(request));
    return std::make_unique<FixedDiscovery>(std::move(request));
}

bool DiscoveryResult::has_no_address() const {
    return std::all_of(places.begin(), places.end(),
                       [](const ResolvedEndpoint& place) { return place.address.empty(); });
}

base::Result<void> choose_address(const DiscoveryRequest& request, const std::string& own, const std::string& towards,
                                  DiscoveryResult& found) {
    found.bind_to = base::reachable_address();
    if (!request.local_addr.empty()) {
        auto numbers = addresses_of(request.local_addr);
        if (!numbers) return base::Error{numbers.error().within("--local-addr").text};
        found.advertised = request.local_addr;
        found.bind_to = numbers->front();
        found.why = "--local-addr names it";
    } else if (!own.empty()) {
        found.advertised = found.bind_to = own;
        found.why = "the endpoint names it";
    } else if (!towards.empty()) {
        found.advertised = found.bind_to = towards;
        found.why = "it is the source address of the route to the endpoint";
    } else {
        found.advertised = found.bind_to;
        found.why = "it is the first address of an interface that is up";
    }
    return {};
}

DiscoveryResult FixedDiscovery::look_up(std::vector<std::string>& own, std::vector<std::string>& towards) const {
    DiscoveryResult found;
    const std::vector<std::string> all_own = own_addresses();
    const std::string reachable = base::reachable_address();
    for (const Endpoint& each : request_.at.places) {
        auto numbers = addresses_of(each.host);
        if (!numbers || numbers->empty()) {  // the name may be resolved later
            found.places.push_back({each, {}});
            if (found.problem.empty()) found.problem = numbers ? each.host + ": no address" : numbers.error().text;
            continue;
        }
        for (const std::string& number : *numbers)
            found.places.push_back({each, number});  // the coordinator listens at one of them
        if (&each == &request_.at.places.front())
            own = own_addresses_at(each, *numbers, all_own, request_.host_name, reachable);
        if (!own.empty() && own.front() == reachable && is_loopback(numbers->front())) found.name_is_loopback = true;
        for (const std::string& number : *numbers)
            if (means_loopback(each.host) || !is_loopback(number))
                add_of_its_version(towards, own_address_towards(number));
    }
    return found;
}

base::Result<DiscoveryResult> FixedDiscovery::find() {
    if (request_.at.places.empty())
        return base::Error{request_.option + ": nothing given, expected HOST:PORT of the coordinator"};
    std::vector<std::string> own;
    std::vector<std::string> towards;
    DiscoveryResult found = look_up(own, towards);
    const auto first_of = [](const std::vector<std::string>& all) { return all.empty() ? std::string() : all.front(); };
    if (auto chosen = choose_address(request_, first_of(own), first_of(towards), found); !chosen) return chosen.error();
    if (request_.local_addr.empty())
        for (const std::string& each : own.empty() ? towards : own)
            if (is_version_4(each) != is_version_4(found.bind_to)) found.other = each;
    if (request_.hosting == Hosting::never) return found;
    if (own.empty()) {
        if (!hosts_elsewhere(found)) return found;
        own = {found.bind_to};
    }
    return host(std::move(found), own);
}

/// Whether this node hosts although the endpoint is none of its addresses: with is_host=true, or as node rank 0, which
/// hosts under torchrun at any address that the other nodes reach.
bool FixedDiscovery::hosts_elsewhere(DiscoveryResult& found) const {
    const bool is_forced = request_.hosting == Hosting::always;
    const ResolvedEndpoint& there = found.places.front();
    if (!is_forced && request_.hosting != Hosting::as_first) return false;
    if (there.address.empty()) return is_forced;
    const auto answer_at = [&](const std::string& address) {
        return probe(address, there.endpoint.port, request_.version, request_.job_id, kAnswerIn, request_.tls).kind;
    };
    const Kind answer = answer_at(there.address);
    if (is_forced) {  // a relay in front of this node may accept connections before the coordinator listens
        if (answer != Kind::coordinator && answer != Kind::refused) return true;
        if (answer_at(found.bind_to) != Kind::coordinator)  // of an earlier agent on this node
            found.warning = fmt::format(
                "{}: a coordinator answers at {} already, so this node joins there and does not host, expected "
                "is_host=true only on the node that hosts",
                request_.option, there.endpoint.text());
        return false;
    }
    if (answer == Kind::coordinator || answer == Kind::refused || answer == Kind::silent) return false;
    found.warning = fmt::format(
        "{}: {} is no address of this node, which hosts the coordinator as node rank 0 and listens at {}, expected "
        "--node-rank=0 on {} unless other nodes reach this node there",
        request_.option, there.endpoint.host, Endpoint{found.bind_to, there.endpoint.port}.text(), there.endpoint.host);
    return true;
}

/// Listens at the first address and, if possible, at the other ones: some nodes may reach this node by IPv6 only. If
/// the port is in use, its owner may be a coordinator, or a process that is about to listen or to exit: probes the port
/// for kHeldFor. If the owner answers, the node dials it; the dial reports other services. A port that stays in use
/// without accepting connections is an error.
base::Result<DiscoveryResult> FixedDiscovery::host(DiscoveryResult found, const std::vector<std::string>& own) const {
    const std::string& address = own.front();
    const int port = request_.at.places.front().port;
    for (const Time end = std::chrono::steady_clock::now() + kHeldFor;; std::this_thread::sleep_for(kLookAgain)) {
        auto listener = store::open_listener(address, port);
        if (listener) {
            found.places = {{{address, listener->port}, address}};
            found.listener = std::move(*listener);
            for (auto at = own.begin() + 1; at != own.end(); ++at)
                if (auto one_more = store::open_listener(*at, found.listener->port))
                    found.more_listeners.push_back(std::move(*one_more));
            return found;
        }
        if (!listener.error().text.ends_with("Address already in use")) return listener.error().within(request_.option);
        const Kind there = probe(address, port, request_.version, request_.job_id, kAnswerIn, request_.tls).kind;
        if (there == Kind::coordinator || there == Kind::refused) return found;
        if (there == Kind::silent) {
            found.warning = fmt::format("{}: {}, by {}, expected a free port, or the coordinator", request_.option,
                                        listener.error().text, silent_owner_of(port));
            return found;
        }
        if (std::chrono::steady_clock::now() < end) continue;
        if (there == Kind::foreign_service) {
            found.port_owner = port_owner(port);
            return found;
        }
        return base::Error{fmt::format("{}: {}, by {}, expected a free port", request_.option, listener.error().text,
                                       silent_owner_of(port)),
                           exit_status::kRefused};
    }
}

}  // namespace dlaunch::rendezvous
