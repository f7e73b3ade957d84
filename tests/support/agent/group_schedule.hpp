#pragma once
/// A seeded schedule of the worker group's machine against a model of its environment: processes that start, fail,
/// exit, leave orphans and leftovers or outlive SIGKILL; a template; requests at any moment. Checks every command.

#include <algorithm>
#include <csignal>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "agent/group/worker_group.hpp"

namespace dlaunch::agent {
using namespace std::chrono_literals;
using Kind = GroupCommand::Kind;
using S = GroupState;
using E = GroupEvent;
using A = GroupAction;

struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};
inline void must(bool holds, const char* rule) {
    if (!holds) throw Violation(rule);
}

class Schedule {
public:
    Schedule(unsigned seed, const GroupTable& table)
        : random_(seed), forks_(chance(30)), group_({.stop_signal = SIGTERM, .grace = 30s, .forks = forks_}, table) {}

    void run() {
        for (int round = 0; round < 3 && group_.state() != S::over; ++round) run_round();
        must(steps_ < kMostSteps, "every path ends");
    }

private:
    enum class Process { none, ordered, made, runs, dead };
    struct Worker {
        Process process = Process::none;
        bool unkillable = false, deaf = false;
        bool asked = false;    ///< it lived when it was sent a signal to end
        bool message = false;  ///< its last message is unread
        bool lost_peer = false;
        [[nodiscard]] bool lives() const { return process == Process::made || process == Process::runs; }
    };
    enum class Below { absent, preparing, ready };  // the template
    static constexpr int kMostSteps = 5000;

    bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
    std::size_t any(std::size_t count) { return random_() % count; }

    void run_round() {
        workers_.assign(1 + any(6), {});
        for (Worker& worker : workers_) {
            worker.unkillable = chance(2);
            worker.deaf = worker.unkillable || chance(10);
        }
        first_bad_.reset();
        failures_ = announced_ = 0;
        settled_ = false;
        finished_ = stopping_ = had_stop_ = proceed_posted_ = false;
        leftovers_ = chance(20) ? 1 + any(3) : 0;
        orphans_ = chance(20) ? 1 + any(2) : 0;
        const bool reckless = chance(50);  // else there are no requests, and only workers fail
        const int lively = static_cast<int>(any(60));
        has_peers_ = chance(50);
        feed([this] { group_.assign(static_cast<int>(workers_.size()), now_, has_peers_); });
        for (int step = 0; !finished_; ++step) {
            must(++steps_ < kMostSteps, "every path ends");
            if (step < lively && reckless && chance(15)) {
                request();
            } else {
                live(step < lively);
            }
        }
        must(!group_.next_deadline(), "no timer outlives its round");
        must(group_.state() == S::idle || group_.state() == S::over, "a finished round is idle");
    }

    /// Runs to completion, as the shell does.
    void feed(std::function<void()> event) {
        events_.push_back(std::move(event));
        if (std::exchange(handling_, true)) return;
        for (; !events_.empty(); events_.pop_front()) {
            events_.front()();
            for (const GroupCommand& command : group_.take_commands()) perform(command);
            must(state_ != S::stopping || signalled_, "a stopping group was sent the stop signal");
            must(state_ != S::killing || signalled_, "a killed group was sent SIGKILL");
        }
        handling_ = false;
    }

    void request() {
        const std::size_t kind = any(6);
        if (kind < 2) {
            suspended_ = kind == 0;
            return feed([this] {
                if (suspended_) return group_.suspend();
                group_.resume(now_);
            });
        }
        had_stop_ = true;
        feed([this, kind] {
            if (kind == 2) return group_.kill(now_);
            if (kind == 3) return group_.time_out(now_);
            group_.stop(SIGINT, now_);
        });
    }

    /// Something happens below the machine, or time passes.
    void live(bool lively) {
        if (suspended_ && !lively) {
            suspended_ = false;
            return feed([this] { group_.resume(now_); });
        }
        if (template_ == Below::preparing && chance(50)) return template_moves();
        if (proceed_posted_ && chance(70)) {
            proceed_posted_ = false;
            return feed([this] { group_.proceed(now_); });
        }
        if (draining_ && chance(50)) {
            draining_ = false;
            return feed([this] { group_.drained(now_); });
        }
        if (chance(30) && read_message()) return;
        const std::size_t index = any(workers_.size());
        if (move(index, lively)) return;
        if (orphans_ > 0 && asked_orphans_ && chance(50)) {
            --orphans_;
            return feed([this] { group_.child(now_); });
        }
        if (chance(20)) return feed([this] { group_.child(now_); });
        if (const auto next = group_.next_deadline(); next && chance(lively ? 10 : 60)) {
            now_ = std::max(now_, *next);
            return feed([this] { group_.tick(now_); });
        }
        now_ += 1ms;
        feed([this] { group_.tick(now_); });
    }

    void template_moves() {
        const auto ends = [this](bool well) {
            template_ = Below::absent;
            if (!well) bad(-1);
            if (well && missing() >= 0 && group_.state() == S::starting) bad(-1);
            feed([this, well] { group_.template_ended({.well = well}, now_); });
        };
        if (chance(70) && !template_asked_) {
            template_ = Below::ready;
            return feed([this] { group_.template_ready(now_); });
        }
        if (chance(30)) {
            template_ = Below::absent;
            if (group_.state() == S::starting) bad(-1);
            return feed([this] { group_.template_refused(now_); });
        }
        ends(chance(50));
    }

    int missing() const {
        for (std::size_t index = 0; index < workers_.size(); ++index)
            if (workers_[index].process == Process::none || workers_[index].process == Process::ordered)
                return static_cast<int>(index);
        return -1;
    }

    /// One step of one process; false: it has none to take.
    bool move(std::size_t index, bool lively) {
        Worker& worker = workers_[index];
        const int local = static_cast<int>(index);
        switch (worker.process) {
            case Process::ordered:  // a fork
                worker.process = Process::made;
                feed([this, local] { group_.made(local); });
                return true;
            case Process::made:
                if (killed_ && !worker.unkillable) return end(local, false);
                if (chance(5)) {
                    fail_to_start(local);
                } else {
                    worker.process = Process::runs;
                    feed([this, local] { group_.executed(local, now_); });
                }
                return true;
            case Process::runs:
                if (killed_) return !worker.unkillable && end(local, false);
                if (stopping_) return !worker.deaf && chance(30) && end(local, chance(30));
                if (lively ? !chance(15) : !chance(60)) return false;
                return end(local, chance(80));
            default: return false;
        }
    }

    bool end(int local, bool well) {
        Worker& worker = workers_[static_cast<std::size_t>(local)];
        worker.process = Process::dead;
        WorkerGroup::End end{.well = well, .may_hold = !well && chance(30), .asked = worker.asked};
        if (!well && !worker.asked) {
            end.lost_peer = worker.lost_peer = chance(30);
            worker.message = end.message_follows = chance(30);
        }
        if (!well) bad(local);
        feed([this, local, end] { group_.ended(local, end, now_); });
        if (group_.holds_ends()) return true;
        const bool is_plain = !end.well && !end.asked && !end.lost_peer && !end.message_follows;
        must(!is_plain || (state_ != S::running && state_ != S::settling), "a failure stops the group at once");
        must(state_ != S::settling || has_peers_ || !none_lives(), "nothing settles when all have exited");
        return true;
    }

    /// The message of an exited worker is read.
    bool read_message() {
        for (std::size_t index = 0; index < workers_.size(); ++index) {
            if (!std::exchange(workers_[index].message, false)) continue;
            workers_[index].lost_peer = chance(50);
            feed([this, local = static_cast<int>(index)] {
                group_.message(local, workers_[static_cast<std::size_t>(local)].lost_peer, now_);
            });
            return true;
        }
        return false;
    }

    void fail_to_start(int local) {
        workers_[static_cast<std::size_t>(local)].process = Process::dead;
        if (state_ == S::starting) bad(local);  // else it follows from the stop
        feed([this, local] { group_.not_started(local, now_); });
    }

    /// The first thing that goes wrong in this round. -1: the template.
    void bad(int local) {
        if (!first_bad_) first_bad_ = local;
    }

    void perform(const GroupCommand& command) {
        const bool is_request_state = state_ == S::stopping || state_ == S::killing;
        switch (command.kind) {
            case Kind::enter:
                must(command.state != state_, "a state is entered once");
                state_ = command.state;
                stopping_ = state_ == S::stopping || state_ == S::killing;
                killed_ = state_ == S::killing;
                asked_orphans_ = signalled_ = false;
                if (state_ == S::starting) template_asked_ = false;
                if (state_ == S::settling) settled_ = true;
                break;
            case Kind::start_template:
                must(template_ == Below::absent && state_ == S::starting, "one template, in starting");
                template_ = Below::preparing;
                break;
            case Kind::start: start(command.worker); break;
            case Kind::hint: must(template_ == Below::preparing, "a hint is about a template that prepares"); break;
            case Kind::started:
                must(state_ == S::running, "the group runs");
                for (const Worker& worker : workers_)
                    must(worker.process == Process::runs || worker.process == Process::dead, "all were started");
                break;
            case Kind::fail:
                if (failures_++ == 0 && command.failure == FailureKind::ended && first_bad_ >= 0)
                    must(command.worker == *first_bad_ || workers_[static_cast<std::size_t>(*first_bad_)].lost_peer,
                         "the first cause stays first, but for a lost peer");
                if (command.failure == FailureKind::ended)
                    must(!workers_[static_cast<std::size_t>(command.worker)].lives(), "only an end is an end");
                break;
            case Kind::collect: must(state_ == S::stopping, "exits are collected before the stop"); break;
            case Kind::announce:
                must(failures_ > 0 && ++announced_ == 1, "the first failure is announced once");
                must(state_ == S::stopping, "and stops the group");
                break;
            case Kind::stop:
                must(state_ == S::stopping, "stopping is entered before the signal");
                ask(false);
                break;
            case Kind::kill:
                must(state_ == S::killing, "killing is entered before SIGKILL");
                ask(true);
                break;
            case Kind::look_for_orphans:
                must(state_ == S::stopping && none_lives(), "orphans are those of dead workers");
                feed([this] { group_.orphans(orphans_, now_); });
                break;
            case Kind::end_orphans:
                must(orphans_ > 0 && is_request_state, "there are orphans");
                asked_orphans_ = true;
                break;
            case Kind::signal: break;
            case Kind::report_unkillable:
                must(killed_, "only after SIGKILL");
                for (Worker& worker : workers_)
                    if (worker.lives()) worker.process = Process::dead;
                template_ = template_ == Below::preparing ? Below::absent : template_;
                break;
            case Kind::cut_drain: must(state_ == S::clearing, "a drain is in clearing"); break;
            case Kind::sweep:
                must(state_ == S::clearing && none_lives(), "a sweep comes after the workers' ends");
                orphans_ = 0;
                if (leftovers_ > 0 && chance(50)) --leftovers_;
                feed([this, left = leftovers_] { group_.swept(left, now_); });
                break;
            case Kind::drain:
                must(state_ == S::clearing && !draining_, "one drain, in clearing");
                draining_ = true;
                break;
            case Kind::finish:
                must(none_lives() && !draining_, "a round ends after its workers");
                must(!command.succeeded || !first_bad_ || had_stop_, "a failed round does not succeed");
                must(!first_bad_ || had_stop_ || settled_ || announced_ == 1, "a failure is announced");
                must(announced_ == 1 || !(settled_ && has_peers_) || had_stop_, "and always where peers wait for it");
                must(command.succeeded || first_bad_ || had_stop_, "a good round succeeds");
                finished_ = true;
                break;
        }
    }

    void start(int local) {
        Worker& worker = workers_[static_cast<std::size_t>(local)];
        must(state_ == S::starting && !suspended_, "workers are started in starting");
        must(worker.process == Process::none, "no worker is started twice");
        must(!proceed_posted_, "a start waits until the one before was carried out");
        must(std::count_if(workers_.begin(), workers_.end(),
                           [](const Worker& other) {
                               return other.process == Process::ordered || other.process == Process::made;
                           }) < static_cast<long>(WorkerGroup::kStartingAtOnce),
             "few are on their way");
        proceed_posted_ = true;
        if (forks_) {
            must(template_ == Below::ready, "a fork needs its template");
            worker.process = Process::ordered;
        } else if (chance(3)) {
            fail_to_start(local);
        } else {
            worker.process = Process::made;
            feed([this, local] { group_.made(local); });
        }
    }

    /// The immediate effects of a stop; the rest follows in live().
    void ask(bool kill) {
        template_asked_ = signalled_ = true;
        killed_ = kill;
        for (std::size_t index = 0; index < workers_.size(); ++index) {
            workers_[index].asked |= workers_[index].lives();
            if (workers_[index].process != Process::ordered) continue;
            workers_[index].process = Process::none;
            feed([this, index] { group_.unmade(static_cast<int>(index), now_); });
        }
    }

    bool none_lives() const {
        return std::none_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.lives(); });
    }

    std::mt19937 random_;
    bool forks_;
    WorkerGroup group_;
    base::Time now_{1000s};
    std::vector<Worker> workers_;
    std::deque<std::function<void()>> events_;
    S state_ = S::idle;
    Below template_ = Below::absent;
    std::optional<int> first_bad_;
    std::size_t leftovers_ = 0, orphans_ = 0;
    int failures_ = 0, announced_ = 0, steps_ = 0;
    bool settled_ = false, has_peers_ = false;
    bool handling_ = false, proceed_posted_ = false, draining_ = false, finished_ = false, suspended_ = false,
         stopping_ = false, signalled_ = false, killed_ = false, asked_orphans_ = false, template_asked_ = false,
         had_stop_ = false;
};

}  // namespace dlaunch::agent
