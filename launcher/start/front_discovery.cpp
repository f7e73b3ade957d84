// The front end's hosts that come and go: --host-discovery-script.

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "launcher/hosts/host_list.hpp"
#include "launcher/hosts/hostfile.hpp"
#include "launcher/start/front_shell.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

constexpr auto kAskEvery = 1000ms;
constexpr auto kAnswerBy = 30'000ms;
constexpr std::size_t kMostOutput = 1 << 20;

}  // namespace

void FrontShell::ask_for_hosts() {
    script_output_.clear();
    script_ = std::make_unique<HelperProcess>(
        loop_, children_,
        HelperProcess::Handlers{.output =
                                    [this](std::string_view bytes) {
                                        if (script_output_.size() < kMostOutput) script_output_ += bytes;
                                    },
                                .ended = [this](const HelperProcess::End& how) { on_hosts(how); }});
    script_->begin({.words = {"/bin/sh", "-c", plan_.discovery_script}, .merges_errors = false}, "");
    script_deadline_ = loop_.after(kAnswerBy, [this] {
        script_deadline_ = {};
        script_->end();
    });
}

/// The first answer must be one; later failures change nothing, and each has a line.
void FrontShell::on_hosts(const HelperProcess::End& how) {
    const bool is_late = !script_deadline_;
    script_deadline_ = {};
    if (is_over_) return;
    const auto list = [&]() -> base::Result<std::vector<HostEntry>> {
        constexpr const char* kOption = "--host-discovery-script";
        if (is_late) return base::Error{fmt::format("{}: it has not ended within {} s", kOption, kAnswerBy / 1s)};
        if (how.status != 0) return base::Error{fmt::format("{}: {}", kOption, how.text)};
        return parse_hostfile(script_output_, kOption);
    };
    const auto listed = list();
    if (!listed && nodes_.empty()) return finish(exit_status::kRendezvousTimeout, listed.error().text);
    script_timer_ = loop_.after(kAskEvery, [this] { ask_for_hosts(); });
    const std::string wrong = listed ? "" : listed.error().text;
    if (!wrong.empty() && wrong != wrong_list_) print(wrong + "; the list of hosts stays as it was");
    wrong_list_ = wrong;
    if (listed && ending_signals_ == 0) take_hosts(*listed);
}

/// With --nproc-per-node=gpu and the like the host counts by itself, and refuses more workers than its slots.
std::vector<Share> FrontShell::shares_of(const HostEntry& host) const {
    const bool counts = plan_.words.contexts.front().count.empty() || plan_.workers_per_host > 0;
    const int workers = plan_.workers_per_host > 0 ? plan_.workers_per_host : host.slots.value_or(1);
    return {{0, counts && workers <= host.slots.value_or(workers) ? workers : 0}};
}

void FrontShell::take_hosts(const std::vector<HostEntry>& listed) {
    using Kind = DiscoveredHosts::Change::Kind;
    const base::Time now = base::Clock::now();
    for (const auto& change : discovered_.listed(listed, now)) {
        if (is_over_) return;
        if (change.kind == Kind::add) {
            nodes_.emplace_back().plan = front_node(plan_.words, {change.host.name, change.host.user},
                                                    shares_of(change.host), {change.host.slots, {}});
            carry_out(start_up_.add_host(now));
        } else if (change.kind == Kind::again) {
            NodeState& node = nodes_[index(change.index)];
            node = NodeState{.plan = std::move(node.plan)};
            carry_out(start_up_.retry(change.index, now));
        } else if (NodeState& node = nodes_[index(change.index)]; node.socket && node.has_order) {
            print(fmt::format("host {} is not listed any more: its node leaves the job", name_of(change.index)));
            node.signal(SIGTERM);
        } else if (node.starter) {
            node.is_unlisted = true;
            node.starter->end();
        }
    }
}

/// A host that has done its part is not started again.
void FrontShell::on_host_ended(int host) {
    if (plan_.discovery_script.empty()) return;
    const auto& end = nodes_[index(host)].end;
    if (end && end->status == 0) return;
    discovered_.ended(host, base::Clock::now());
}

}  // namespace dlaunch::launcher
