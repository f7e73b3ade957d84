#include "rendezvous/discovery/fixed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "rendezvous/base/address.hpp"
#include "rendezvous/discovery/folder.hpp"
#include "rendezvous/net/addresses.hpp"
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

}  // namespace

std::unique_ptr<Discovery> make_discovery(Question question) {
    if (!question.at.folder.empty()) return std::make_unique<FolderDiscovery>(std::move(question));
    return std::make_unique<FixedDiscovery>(std::move(question));
}

bool Found::nowhere() const {
    return std::all_of(places.begin(), places.end(),
                       [](const ResolvedEndpoint& place) { return place.address.empty(); });
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
        found.why = "it is the source address of the route to the endpoint";
    } else {
        found.advertised = found.bind_to;
        found.why = "it is the first address of an interface that is up";
    }
    return {};
}

Found FixedDiscovery::look_up(std::vector<std::string>& own, std::vector<std::string>& towards) const {
    Found found;
    const std::vector<std::string> all_own = own_addresses();
    const std::string reachable = base::reachable_address();
    for (const Endpoint& each : question_.at.places) {
        auto numbers = addresses_of(each.host);
        if (!numbers || numbers->empty()) {  // the name may be resolved later
            found.places.push_back({each, {}});
            if (found.problem.empty()) found.problem = numbers ? each.host + ": no address" : numbers.error().text;
            continue;
        }
        for (const std::string& number : *numbers)
            found.places.push_back({each, number});  // the coordinator listens at one of them
        if (&each == &question_.at.places.front())
            own = own_addresses_at(each, *numbers, all_own, question_.host_name, reachable);
        if (!own.empty() && own.front() == reachable && is_loopback(numbers->front())) found.name_is_loopback = true;
        for (const std::string& number : *numbers)
            if (means_loopback(each.host) || !is_loopback(number))
                add_of_its_version(towards, own_address_towards(number));
    }
    return found;
}

base::Result<Found> FixedDiscovery::find() {
    if (question_.at.places.empty())
        return base::Error{question_.option + ": nothing given, expected HOST:PORT of the coordinator"};
    std::vector<std::string> own;
    std::vector<std::string> towards;
    Found found = look_up(own, towards);
    const auto first_of = [](const std::vector<std::string>& all) { return all.empty() ? std::string() : all.front(); };
    if (auto chosen = choose_address(question_, first_of(own), first_of(towards), found); !chosen)
        return chosen.error();
    if (question_.local_addr.empty())
        for (const std::string& each : own.empty() ? towards : own)
            if (is_version_4(each) != is_version_4(found.bind_to)) found.other = each;
    if (question_.hosting == Hosting::never) return found;
    if (own.empty()) {
        if (!hosts_elsewhere(found)) return found;
        own = {found.bind_to};
    }
    return host(std::move(found), own);
}

/// Whether this node hosts although the endpoint names none of its addresses: with is_host=true, or as node rank 0,
/// which hosts under torchrun at any address that the other nodes reach.
bool FixedDiscovery::hosts_elsewhere(Found& found) const {
    if (question_.hosting == Hosting::always) return true;
    const ResolvedEndpoint& there = found.places.front();
    if (question_.hosting != Hosting::as_first || there.address.empty()) return false;
    const Kind answer = probe(there.address, there.endpoint.port, question_.version, question_.job_id, kAnswerIn).kind;
    if (answer == Kind::coordinator || answer == Kind::refused || answer == Kind::silent) return false;
    found.warning = fmt::format(
        "{}: {} is no address of this node, which hosts the coordinator as node rank 0 and listens at {}, expected "
        "--node-rank=0 on {} unless other nodes reach this node there",
        question_.option, there.endpoint.host, Endpoint{found.bind_to, there.endpoint.port}.text(),
        there.endpoint.host);
    return true;
}

/// Listens at the first address and, where possible, at the others: some nodes may reach this one by IPv6 only. If the
/// port is taken, its owner may be a coordinator, about to listen, or about to exit, so the loop probes it for
/// kHeldFor. An owner that answers, coordinator or not, is left to the dial, which reports strangers. A port that stays
/// taken while nothing accepts there is an error.
base::Result<Found> FixedDiscovery::host(Found found, const std::vector<std::string>& own) const {
    const std::string& address = own.front();
    const int port = question_.at.places.front().port;
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
        if (!listener.error().text.ends_with("Address already in use"))
            return listener.error().within(question_.option);
        const Kind there = probe(address, port, question_.version, question_.job_id, kAnswerIn).kind;
        if (there == Kind::coordinator || there == Kind::refused || there == Kind::silent) return found;
        if (std::chrono::steady_clock::now() < end) continue;
        if (there == Kind::stranger) return found;
        return base::Error{fmt::format("{}: {}, by a process that does not answer, expected a free port",
                                       question_.option, listener.error().text),
                           exit_status::kRefused};
    }
}

}  // namespace dlaunch::rendezvous
