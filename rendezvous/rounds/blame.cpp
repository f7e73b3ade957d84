#include "rendezvous/rounds/blame.hpp"

#include <utility>

namespace dlaunch::rendezvous {

void Blame::failed(Time now, const std::string& node, const Cause& cause) {
    if (cause.strength >= Cause::kNoFailure && causes_.empty()) return;
    if (causes_.empty()) caused_at_ = now;
    causes_.add(node, cause);
}

void Blame::succeeded(const std::string& node, const Cause& exit) {
    exits_.emplace_back(node, exit);
    if (exits_.size() > Causes::kMost) exits_.pop_front();
}

void Blame::add_early_exits() {
    for (const auto& [node, exit] : exits_) causes_.add_early_exit(node, exit);
}

void Blame::ended(const RankOutcomes& outcomes) {
    unite(outcomes_.stopped, outcomes.stopped);
    unite(outcomes_.finished, outcomes.finished);
    unite(outcomes_.outlived, outcomes.outlived);
}

/// If the node sent a message after the first failure, its loss did not cause the failure.
void Blame::lost(Time last_received, const std::string& host) {
    if (causes_.empty() || last_received <= caused_at_) excused_ = true;
    if (lost_host_.empty()) lost_at_ = last_received;
    lost_host_ = host;
}

bool Blame::excuse_same_moment(Time now) {
    if (excused_ || now - caused_at_ >= kSameMoment) return false;
    excused_ = true;
    return true;
}

void Blame::decide(const Verdict& verdict, bool with_causes, bool yields) {
    if (verdict_) return;
    verdict_ = verdict;
    with_causes_ = with_causes;
    yields_ = yields;
}

PendingStop Blame::pending(std::string reason) const {
    return {std::move(reason), excused_, lost_host_, verdict_, with_causes_, yields_};
}

void Blame::restore(const PendingStop& stop) {
    excused_ = stop.excuses;
    lost_host_ = stop.lost_host;
    verdict_ = stop.verdict;
    with_causes_ = stop.with_causes;
    yields_ = stop.yields;
}

Blame::Outcome Blame::outcome() const {
    if (verdict_ && (excused_ || !yields_)) return Outcome::verdict;
    if (!causes_.empty() && (!excused_ || causes_.first().permanent)) return Outcome::failure;
    return lost_host_.empty() ? Outcome::change : Outcome::loss;
}

}  // namespace dlaunch::rendezvous
