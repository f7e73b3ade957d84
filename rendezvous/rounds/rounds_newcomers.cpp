/// Nodes that join while a round runs: newcomers, spares, and nodes of hosts in a cool-down.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "rendezvous/rounds/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr std::size_t kShownNames = 4;

std::string nodes_text(std::size_t count) { return fmt::format("{} node{}", count, count == 1 ? "" : "s"); }

}  // namespace

/// Nodes that wait to be admitted, without those in a cool-down.
std::size_t Rounds::newcomers() const { return roster_.count(MemberState::none) - admission_.cooling(); }

/// False once a member has finished: the job is about to succeed.
bool Rounds::may_admit_newcomers() const {
    return job_.scale_up == ScaleUp::immediate && group_size_ < limit() &&
           roster_.count(MemberState::running) == group_size_;
}

void Rounds::begin_cooldown(Time now, const Node& node) {
    const std::string& host = node.record.host;
    const Time until = cooldowns_.admitted_from(host);
    if (until <= now) return;
    admission_.cool(node.record.id, until);
    send(node,
         Notice{stamp(), fmt::format("{} was lost {} times within ten minutes: admitted in {:.0f} s", host,
                                     cooldowns_.losses(host), std::chrono::duration<double>(until - now).count())});
}

/// Begins cool-downs of waiting nodes, except `but`, whose hosts' losses have become known.
void Rounds::begin_cooldowns(Time now, const std::string& but) {
    for (const auto& [id, node] : roster_.all())
        if (node.state == MemberState::none && id != but && !admission_.is_cooling(id)) begin_cooldown(now, node);
}

void Rounds::note_newcomer(Time now, const Node& node) {
    if (admission_.is_cooling(node.record.id)) return;
    if (!may_admit_newcomers())
        return send(
            node, Notice{stamp(),
                         fmt::format(
                             "waiting as a spare: job \"{}\" runs on {}{}", options_.job_id, nodes_text(group_size_),
                             options_.job_id == kUnnamedJob ? "; a separate job needs its own port and --rdzv-id" : ""),
                         true});
    if (group_size_ + newcomers() >= limit()) return admit_newcomers(now);
    admission_.wait(now, node.record.id, job_.last_call);
    if (admission_.is_due(now)) return admit_newcomers(now);
    const double last_call = static_cast<double>(job_.last_call.count()) / 1e3;
    send(node,
         Notice{stamp(),
                fmt::format("waiting as a newcomer: job \"{}\" runs on {}; admitted when no further node "
                            "has joined for {:g} s, in {:g} s at the latest",
                            options_.job_id, nodes_text(group_size_), last_call, Admission::kMostLastCalls * last_call),
                true});
}

/// The nodes that waited under the predecessor wait on.
void Rounds::note_newcomers(Time now) {
    std::vector<std::string> waiting;
    for (const auto& [id, node] : roster_.all())
        if (node.state == MemberState::none && !node.leaving) waiting.push_back(id);
    for (const std::string& id : waiting)
        if (const Node* node = roster_.find(id); node && phase_ == Phase::running) note_newcomer(now, *node);
}

void Rounds::admit_newcomers(Time now) {
    admission_.admitted();
    if (!may_admit_newcomers()) return;
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

/// Nodes become newcomers at the end of their cool-down.
void Rounds::end_cooldowns(Time now) {
    for (const std::string& id : admission_.warm(now))
        if (const Node* node = roster_.find(id); node && phase_ == Phase::running) note_newcomer(now, *node);
}

}  // namespace dlaunch::rendezvous
