#include "agent/mpi/node_fence.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/random.hpp"

namespace dlaunch::agent {
namespace {

/// For the other nodes' ranks: their agents have the same round, and are about to enter the fence.
constexpr auto kWorldDue = std::chrono::seconds(20);

}  // namespace

std::string round_prefix(const Assignment& assignment) { return fmt::format("dlaunch/mpi/{}/", assignment.round); }

NodeFence::NodeFence(base::Loop& loop, const Assignment& assignment, std::string name)
    : loop_(loop),
      here_(assignment.group_rank),
      nodes_(assignment.group_world_size),
      name_(round_prefix(assignment) + std::move(name)),
      store_(loop, assignment.store_addr(), assignment.store_port()) {}

std::string NodeFence::key(int number, int node) const { return fmt::format("{}/{}/{}", name_, number, node); }

/// A node enters fence n + 1 when it has the result of fence n. So the end of fence n + 1 shows that all nodes have
/// read fence n, whose keys can go.
void NodeFence::enter(std::string_view bytes, Done done) {
    const int number = entered_++;
    if (nodes_ == 1) return finish_soon(std::vector{std::string(bytes)}, std::move(done));
    if (bytes.size() > StoreClient::kMostValueBytes)
        return finish_soon(base::Error{fmt::format("a node's contribution has {} bytes, expected at most {}",
                                                   bytes.size(), StoreClient::kMostValueBytes)},
                           std::move(done));
    std::vector<std::string> keys;
    keys.reserve(static_cast<std::size_t>(nodes_));
    for (int node = 0; node < nodes_; ++node) keys.push_back(key(number, node));
    store_.exchange(key(number, here_), bytes, keys, std::move(done));
    if (number > 0) store_.remove(key(number - 1, here_), {});
}

void NodeFence::finish_soon(base::Result<std::vector<std::string>> result, Done done) {
    soon_ = loop_.after(base::Duration::zero(), [done = std::move(done), result = std::move(result)]() mutable {
        const Done run = std::move(done);  // which may enter the next fence, and so end this callback's life
        const auto outcome = std::move(result);
        run(outcome);
    });
}

void NodeFence::gather_world(MpiFamily family, const Plan& plan, const Assignment& assignment, TakeWorld done) {
    due_ = loop_.after(kWorldDue, [this, done] {
        const TakeWorld run = done;  // which may destroy this callback
        is_late_ = true;
        run(base::Error{fmt::format("no ranks came from one of them within {} s (all nodes need the same --mpi)",
                                    kWorldDue.count())});
    });
    const auto take = [this, family, size = assignment.world_size,
                       done = std::move(done)](const base::Result<std::vector<std::string>>& all) {
        due_ = {};
        if (is_late_) return;
        if (!all) return done(all.error());
        MpiWorld world{here_, {}};
        for (const std::string& text : *all) {
            const std::size_t blank = text.find(' ');
            char* ranks = nullptr;
            const std::uint64_t number = blank == text.npos ? 0 : std::strtoull(text.c_str() + blank, &ranks, 16);
            auto node = !ranks || *ranks != ' ' ? std::nullopt : decode(ranks + 1);
            if (world.nodes.empty()) world.number = number;
            if (!node) return done(base::Error{"the round's store has no ranks of a node, but other bytes"});
            if (const auto other = text.substr(0, blank); other != name(family))
                return done(base::Error{fmt::format("{} has --mpi={}, expected {} as here", base::printable(node->host),
                                                    base::printable(other), name(family))});
            world.nodes.push_back(std::move(*node));
        }
        if (world.size() != size || !world.nodes_by_rank())
            return done(base::Error{"the nodes' ranks in the round's store are no world"});
        done(world);
    };
    enter(fmt::format("{} {:x} {}", name(family), base::random_number(), encode(ranks_here(plan, assignment))), take);
}

}  // namespace dlaunch::agent
