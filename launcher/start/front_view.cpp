#include "launcher/start/front_view.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/logs/prefix.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::launcher {

/// The sources of one host.
class FrontView::Host final : public agent::RelayReader::Handler {
public:
    Host(FrontView& view, int host) : view_(view), host_(host) {}
    ~Host() override {
        for (const auto& [id, source] : sources_) view_.screen_->end(source);
        if (errors_) view_.screen_->end(errors_);
    }

    void feed(FrameKind stream, std::string_view bytes) {
        if (stream == FrameKind::output) return reader_.feed(bytes, *this);
        if (!errors_) errors_ = view_.screen_->add({.local_rank = key(), .stream = 1, .apart = true});
        view_.screen_->feed(errors_, bytes);
    }
    [[nodiscard]] bool may_feed() const {
        return view_.screen_->accepts() &&
               std::ranges::all_of(sources_, [this](const auto& each) { return view_.screen_->may_read(each.second); });
    }

    void on_add(int id, agent::LineSource source) override {
        if (sources_.contains(id)) return;
        if (source.apart) source.local_rank = key();
        view_.prefixes_[source.local_rank] = source.prefix;
        source.reads_terminal = view_.options_.reads_terminal;
        source.since = base::Clock::now();
        sources_[id] = view_.screen_->add(std::move(source));
    }
    void on_bytes(int id, std::string_view bytes) override {
        if (const auto found = sources_.find(id); found != sources_.end()) view_.screen_->feed(found->second, bytes);
    }
    void on_end(int id) override {
        const auto found = sources_.find(id);
        if (found == sources_.end()) return;
        view_.screen_->end(found->second);
        sources_.erase(found);
    }
    void on_text(std::string_view text) override { view_.screen_->print(text); }
    void on_progress(const agent::JobProgress& known) override {
        progress = known;
        view_.show_progress();
    }

    std::optional<agent::JobProgress> progress;
    bool has_ended = false;

private:
    /// In place of a rank, for text that no rank has written.
    [[nodiscard]] int key() const { return -1 - host_; }

    FrontView& view_;
    int host_;
    agent::RelayReader reader_;
    std::map<int, agent::Mixer::Source*> sources_;
    agent::Mixer::Source* errors_ = nullptr;
};

FrontView::FrontView(Options options) : options_(std::move(options)) {}
FrontView::~FrontView() = default;

agent::LiveMixer::Rules FrontView::rules() const {
    agent::LiveMixer::Rules rules;
    rules.prefix = [this](const std::vector<int>& ranks) { return prefix(ranks); };
    rules.ranks = [](const std::vector<int>& ranks) {
        return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "", base::number_ranges(ranks));
    };
    if (options_.timestamps) rules.stamp = [] { return agent::timestamp(std::chrono::system_clock::now()); };
    rules.colours = options_.colours;
    rules.began = base::Clock::now();
    return rules;
}

std::string FrontView::prefix(const std::vector<int>& ranks) const {
    if (ranks.size() == 1) {
        const auto found = prefixes_.find(ranks.front());
        return found == prefixes_.end() ? std::string() : found->second;
    }
    const std::string all = base::number_ranges(ranks);
    return agent::expand_prefix(options_.prefix_template, {"", all, all, ""});
}

bool FrontView::may_feed(int host) const {
    const auto found = hosts_.find(host);
    return found == hosts_.end() ? screen_->accepts() : found->second->may_feed();
}

void FrontView::feed(int host, FrameKind stream, std::string_view bytes) {
    auto& known = hosts_[host];
    if (!known || known->has_ended) known = std::make_unique<Host>(*this, host);
    known->feed(stream, bytes);
}

void FrontView::end(int host) {
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) return;
    auto ended = std::make_unique<Host>(*this, host);
    ended->progress = found->second->progress;
    ended->has_ended = true;
    found->second = std::move(ended);
    show_progress();
}

void FrontView::show_progress() {
    std::vector<agent::JobProgress> running, ended;
    for (const auto& [index, host] : hosts_)
        if (host->progress) (host->has_ended ? ended : running).push_back(*host->progress);
    screen_->show(progress_of_all(running, ended));
}

std::optional<FrontView::Options> view_options(const FrontPlan& plan) {
    using Mode = agent::StdinPlan::Mode;
    const bool is_terminal = isatty(STDOUT_FILENO) == 1 && agent::Console::same(STDOUT_FILENO, STDERR_FILENO);
    const bool has_input = isatty(STDIN_FILENO) == 1;
    const Mode mode = plan.job.standard_input.mode;
    if (!plan.job.logs.live || plan.is_lone_worker() || !is_terminal) return std::nullopt;
    return FrontView::Options{.colours = plan.job.logs.colours,
                              .timestamps = plan.job.logs.timestamps,
                              .reads_terminal = has_input && (mode == Mode::rank || mode == Mode::all),
                              .prefix_template = plan.job.logs.short_template};
}

unsigned typed_terminals(const FrontPlan& plan) {
    if (plan.job.standard_input.mode == agent::StdinPlan::Mode::none || isatty(STDIN_FILENO) != 1) return 0;
    return (isatty(STDOUT_FILENO) == 1 ? agent::kStdout : 0U) | (isatty(STDERR_FILENO) == 1 ? agent::kStderr : 0U);
}

agent::JobProgress progress_of_all(const std::vector<agent::JobProgress>& running,
                                   const std::vector<agent::JobProgress>& ended) {
    agent::JobProgress all;
    for (const agent::JobProgress& one : running.empty() ? ended : running) {
        all.restarts = std::max(all.restarts, one.restarts);
        all.max_restarts = std::max(all.max_restarts, one.max_restarts);
        all.nodes = std::max(all.nodes, one.nodes);
        all.wanted_nodes = std::max(all.wanted_nodes, one.wanted_nodes);
    }
    for (const agent::JobProgress& one : running) {
        all.workers += one.workers;
        all.alive += one.alive;
    }
    const bool lacks_nodes = all.nodes > static_cast<int>(running.size());
    if (lacks_nodes && !running.empty()) all.nodes = static_cast<int>(running.size());
    if (lacks_nodes)
        for (const agent::JobProgress& one : ended) all.workers += one.workers;
    return all;
}

}  // namespace dlaunch::launcher
