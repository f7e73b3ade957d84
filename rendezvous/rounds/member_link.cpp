// A member's connection: dialing, time-outs, and the first messages.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/rounds/member.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr auto kFirstDial = Milliseconds(250);
constexpr int kMostDoublings = 10;
constexpr int kMostPatience = 3;  // doublings
constexpr auto kMostSpread = Milliseconds(250);
constexpr auto kMostAge = std::chrono::hours(24);

std::uint64_t number_of(Time time) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<Milliseconds>(time.time_since_epoch()).count());
}

}  // namespace

/// `time`, up to a quarter longer.
Milliseconds Member::jittered(Milliseconds time) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return time + time * static_cast<int>(random_ >> 56) / 1024;
}

/// Under a lease the dial time-out is T/10 (at least 200 ms), because the kernel repeats a lost SYN only after 1 s;
/// half of that where a standby may have taken over for a lost host. Otherwise it starts at 250 ms, since an address
/// that is not served may never answer, and doubles with each dial in a row up to options_.dial_timeout.
Milliseconds Member::dial_timeout() const {
    const int part = options_.fixed_coordinator ? 10 : 20;
    if (welcomed_) return std::clamp(node_timeout() / part, Milliseconds(200), options_.dial_timeout);
    return std::min(options_.dial_timeout, kFirstDial * (1 << std::min(dials_, kMostDoublings)));
}

/// The longest pause between two dials. Members with several addresses must find a standby that has taken over while
/// their leases last.
Milliseconds Member::most_retry() const {
    if (options_.fixed_coordinator || !welcomed_) return options_.most_retry;
    return std::min(std::max(node_timeout() / 40, options_.first_retry), options_.most_retry);
}

/// Silence after which the member redials. Before the Welcome it doubles with each unanswered connection: redials at a
/// fixed interval would keep an overloaded coordinator overloaded.
Milliseconds Member::patience() const {
    if (link_ == Link::welcome) return std::max(redial_silence(node_timeout()), beat_pause_ * 3 / 2);
    return options_.answer_timeout * (1 << std::min(unanswered_, kMostPatience));
}

/// A longer pause applies from the next beat on, a shorter one at once.
void Member::pace_beats(Time now, Milliseconds pause) {
    pause = std::clamp(pause, least_pause(node_timeout()), most_pause(node_timeout()));
    if (pause == beat_pause_) return;
    beat_pause_ = pause;
    next_beat_ = std::min(next_beat_, now + jittered(pause));
    patience_ = jittered(patience());
}

void Member::dial(Time now) {
    dials_ = link_ == Link::dialing ? dials_ + 1 : 0;
    link_ = Link::dialing;
    dialed_at_ = now;
    next_beat_ = kNever;
    actions_.emplace_back(Connect{});
}

void Member::connected(Time now, const GoodbyeHashes& goodbye) {
    if (ended_ || link_ != Link::dialing) return;
    link_ = Link::open;
    closed_by_fin_ = accepts_nothing_ = false;
    last_received_ = now;
    patience_ = jittered(patience());
    ++unanswered_;
    last_failure_ = "it does not answer as a coordinator does";
    send(Hello{options_.version, options_.job_id, incarnation_});
    send(Join{stamp(), options_.record, last_group_rank_, running_round(now), latest_round_, number_of(now),
              options_.own_config, job_, progress(now), coordinator_, coordinator_host_, goodbye});
}

/// The ages of losses are those of now.
std::optional<JobProgress> Member::progress(Time now) const {
    auto progress = progress_;
    if (!progress) return {};
    const auto older = static_cast<std::uint64_t>(std::chrono::duration_cast<Milliseconds>(now - assigned_at_).count());
    for (HostLosses& host : progress->losses)
        for (std::uint32_t& age : host.ages_ms)
            age = static_cast<std::uint32_t>(std::min<std::uint64_t>(age + older, UINT32_MAX));
    return progress;
}

std::optional<RunningRound> Member::running_round(Time now) const {
    auto round = running_;
    if (!round) return {};
    round->alive = runs_;
    round->age = std::min<Milliseconds>(kMostAge, std::chrono::duration_cast<Milliseconds>(now - assigned_at_));
    return round;
}

void Member::connect_failed(Time now, const ConnectFailure& failure) {
    if (ended_) return;
    link_ = Link::down;
    accepts_nothing_ = closed_by_fin_;
    last_failure_ = failure.text;
    if (failure.foreign_service && !ever_welcomed_)
        return end_by_itself(exit_status::kRefused,
                             fmt::format("no coordinator: {}{}{}, expected a dlaunch that hosts this job", failure.text,
                                         options_.port_owner.empty() ? "" : ", by ", options_.port_owner));
    if (!failure.refusal.empty() && !ever_welcomed_)
        return end_by_itself(exit_status::kRefused, "refused by the coordinator at " + failure.refusal);
    if ((failure.refused || failure.foreign_service) && ever_welcomed_ && options_.fixed_coordinator)
        return lose_coordinator();
    if (failure.has_more) {
        dial_at_ = now;
        return;
    }
    retry_ = std::clamp(retry_ * 2, options_.first_retry, most_retry());
    dial_at_ = now + jittered(retry_);
}

/// All members may have lost the coordinator at this moment: they spread their redials over a part of the lease.
void Member::closed(Time now, bool by_fin) {
    if (ended_) return;
    closed_by_fin_ = by_fin && link_ == Link::welcome;
    accepts_nothing_ = false;
    const bool answered = link_ == Link::welcome;
    link_ = Link::down;
    next_beat_ = kNever;
    const Milliseconds spread = std::min(lease() / 32, kMostSpread);
    dial_at_ = now + (answered ? (jittered(spread) - spread) * 4 : jittered(std::max(retry_, most_retry())));
}

void Member::moved(Time now, std::uint64_t epoch) {
    if (ended_ || (fenced_ && runs_) || (link_ == Link::welcome && epoch <= epoch_)) return;
    retry_ = Milliseconds(0);
    unanswered_ = 0;
    dial(now);
}

/// Redials and sends beats when they are due.
void Member::keep_link(Time now) {
    if (fenced_ && runs_) return;  // this incarnation sends nothing more
    switch (link_) {
        case Link::down:
            if (now >= dial_at_) dial(now);
            break;
        case Link::dialing:
            if (now - dialed_at_ < dial_timeout()) break;
            accepts_nothing_ = closed_by_fin_;
            dial(now);
            break;
        case Link::open:
        case Link::welcome:
            if (now - last_received_ < patience_) break;
            if (link_ == Link::open && !std::exchange(reported_silence_, true))
                actions_.emplace_back(PrintLine{fmt::format("waiting for {}", unreachable()), true});
            dial(now);
            break;
    }
    if (link_ == Link::welcome && now >= next_beat_) {
        next_beat_ = now + jittered(beat_pause_);
        send(Beat{stamp(), number_of(now)});
    }
}

std::string Member::coordinator_name() const {
    if (coordinator_host_.empty()) return "the coordinator at " + options_.coordinator;
    return fmt::format("the coordinator on {} ({})", coordinator_host_, options_.coordinator);
}

/// A failure names the address that was dialed, which may be the coordinator's name already.
std::string Member::unreachable() const {
    const std::string name = coordinator_name();
    std::string_view why = last_failure_;
    if (const auto at = why.find(": "); at != why.npos && name.ends_with(" " + std::string(why.substr(0, at))))
        why.remove_prefix(at + 2);
    return fmt::format("{}{}{}", name, why.empty() ? "" : ": ", why);
}

}  // namespace dlaunch::rendezvous
