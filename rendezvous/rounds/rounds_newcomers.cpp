/// Nodes that come while a round runs: newcomers, spares, and nodes whose hosts cool down.

#include <fmt/format.h>

#include <algorithm>

#include "rendezvous/rounds/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr std::size_t kShownNames = 4;

std::string nodes_text(std::size_t count) { return fmt::format("{} node{}", count, count == 1 ? "" : "s"); }

}  // namespace

/// Nodes that wait for a place, without those whose hosts cool down.
std::size_t Rounds::newcomers() const { return roster_.count(MemberState::none) - admission_.cooling(); }

/// No node is disturbed where the job is about to end well.
bool Rounds::may_take_newcomers_in() const {
    return job_.scale_up == ScaleUp::immediate && group_size_ < limit() &&
           roster_.count(MemberState::running) == group_size_;
}

void Rounds::cool_down(Time now, const Node& node) {
    const std::string& host = node.record.host;
    const Time until = cooldowns_.admitted_from(host);
    if (until <= now) return;
    admission_.cool(node.record.id, until);
    send(node, Tell{stamp(), fmt::format("{} was lost {} times within ten minutes: admitted in {:.0f} s", host,
                                         cooldowns_.losses(host), std::chrono::duration<double>(until - now).count())});
}

void Rounds::note_newcomer(Time now, const Node& node) {
    if (admission_.is_cooling(node.record.id)) return;
    if (!may_take_newcomers_in())
        return send(node, Tell{stamp(), fmt::format("a spare of job \"{}\", which runs on {}: waiting{}",
                                                    options_.job_id, nodes_text(group_size_),
                                                    options_.job_id == kUnnamedJob
                                                        ? "; another job needs another port, and an --rdzv-id"
                                                        : "")});
    if (group_size_ + newcomers() >= limit()) return take_newcomers_in(now);
    admission_.wait_until(now + job_.last_call);
    if (admission_.is_due(now)) return take_newcomers_in(now);
    send(node, Tell{stamp(),
                    fmt::format("a newcomer to job \"{}\", which runs on {}: taken in when no other node has come for "
                                "{:g} s",
                                options_.job_id, nodes_text(group_size_),
                                static_cast<double>(job_.last_call.count()) / 1e3)});
}

void Rounds::take_newcomers_in(Time now) {
    admission_.taken_in();
    if (!may_take_newcomers_in()) return;
    std::vector<std::string> names;
    for (const auto& [id, node] : roster_.all())
        if (node.state == MemberState::none && node.connection && !admission_.is_cooling(id))
            names.push_back(node.record.host);
    if (names.empty()) return;
    std::string text = names.front();
    for (std::size_t at = 1; at < std::min(names.size(), kShownNames); ++at) text += ", " + names[at];
    if (names.size() > kShownNames) text += fmt::format(" and {} more", names.size() - kShownNames);
    stop(now, text + " joined");
}

/// Nodes whose hosts have cooled down are newcomers.
void Rounds::warm_up(Time now) {
    for (const std::string& id : admission_.warm(now))
        if (const Node* node = roster_.find(id); node && phase_ == Phase::running) note_newcomer(now, *node);
}

}  // namespace dlaunch::rendezvous
