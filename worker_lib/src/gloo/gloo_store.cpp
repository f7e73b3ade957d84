#include "worker_lib/src/gloo/gloo_store.hpp"

#include <fmt/format.h>

#include <utility>

#include "worker_lib/src/gloo/addresses.hpp"

namespace dlaunch::worker::gloo_backend {
namespace {

/// Gloo's keys: "rank_RANK" has the name of the rank's host, and "RANK" its addresses.
struct Key {
    bool has_host = false, has_addresses = false;
    int rank = -1;
};

Key parse(const std::string& key) {
    const std::size_t number = key.find_last_not_of("0123456789") + 1;
    if (number == key.size()) return {};
    return {key.substr(0, number) == "rank_", number == 0, std::stoi(key.substr(number))};
}

/// Time-out of store requests after a failure.
constexpr auto kMissingWithin = std::chrono::seconds(2);

std::string address_key(int publisher, int reader) { return fmt::format("{}/{}", publisher, reader); }

}  // namespace

void GlooStore::set(const std::string& key, const std::vector<char>& data) {
    const Key parsed = parse(key);
    if (parsed.has_host) {
        own_host_ = data;
        return;
    }
    const std::string_view all(data.data(), data.size());
    const auto addresses = parsed.has_addresses ? split_addresses(all, group_.size) : std::vector<std::string_view>();
    has_split_ = !addresses.empty();
    if (!has_split_) return store_.set(key, all, deadline_);
    std::vector<std::pair<std::string, std::string>> pairs;
    for (int reader = 0; reader < group_.size; ++reader)
        if (reader != group_.rank)
            pairs.emplace_back(address_key(group_.rank, reader), addresses[address_place(group_.rank, reader)]);
    store_.multi_set(pairs, deadline_);
}

std::vector<char> GlooStore::get(const std::string& key) {
    wait({key});
    const Key parsed = parse(key);
    if (parsed.has_host) {
        const Member& member = members_[static_cast<std::size_t>(parsed.rank)];
        if (member.host_id == own().host_id) return own_host_;
        return {member.host.begin(), member.host.end()};
    }
    if (parsed.has_addresses && has_split_)
        return value_with_address(addresses_[static_cast<std::size_t>(parsed.rank)], parsed.rank, group_.rank,
                                  group_.size);
    const std::string value = store_.get(key, deadline_);
    return {value.begin(), value.end()};
}

void GlooStore::wait(const std::vector<std::string>& keys) {
    const Time began = Clock::now();
    const Key parsed = parse(keys.back());
    if (parsed.has_host) return;
    if (parsed.has_addresses) peer_ = parsed.rank;
    if (parsed.has_addresses && has_split_) return read_addresses();
    try {
        store_.wait(keys, deadline_);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::timeout || !error.ranks().empty() || parsed.rank < 0) throw;
        fail_without({parsed.rank}, began);
    }
}

void GlooStore::read_addresses() {
    if (!addresses_.empty()) return;
    const Time began = Clock::now();
    std::vector<std::string> keys;
    for (int publisher = 0; publisher < group_.size; ++publisher)
        if (publisher != group_.rank) keys.push_back(address_key(publisher, group_.rank));
    try {
        addresses_ = store_.multi_get(keys, deadline_);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::timeout || !error.ranks().empty()) throw;
        std::vector<int> missing;
        const Time soon = Clock::now() + kMissingWithin;
        for (int publisher = 0; publisher < group_.size; ++publisher) {
            const std::string key = address_key(publisher, group_.rank);
            if (publisher != group_.rank && !store_.check(std::span(&key, 1), soon)) missing.push_back(publisher);
        }
        if (missing.empty()) throw;
        fail_without(std::move(missing), began);
    }
    addresses_.insert(addresses_.begin() + group_.rank, std::string());
}

void GlooStore::fail_without(std::vector<int> ranks, Time began) const {
    const std::string who = group_.names.list(ranks);
    throw failure(
        ErrorCode::timeout, {"new_group", 0, group_.name}, std::move(ranks),
        fmt::format("rank {} waited {} for {}", group_.named(group_.rank), describe(Clock::now() - began), who));
}

}  // namespace dlaunch::worker::gloo_backend
