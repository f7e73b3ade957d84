#include "agent/logs/screens.hpp"

#include <unistd.h>

#include <algorithm>

namespace dlaunch::agent {
namespace {

std::function<std::string()> stamp_of(const LogPlan& plan) {
    if (!plan.timestamps) return {};
    return [] { return timestamp(std::chrono::system_clock::now()); };
}

}  // namespace

Screens::Screens(base::Loop& loop, const Logs::Options& options, Warnings& warnings,
                 const std::function<void()>& on_change)
    : options_(options),
      is_raw_(options.console_is_raw && !options.plan.timestamps && !options.plan.prefixed),
      is_live_(options.plan.live && !options.console_is_raw && isatty(options.stdout_fd) == 1 &&
               Console::same(options.stdout_fd, options.stderr_fd)),
      prefixes_(options.plan.prefix_template, options.host, options.roles),
      short_prefixes_(options.plan.short_template, options.host, options.roles) {
    if (options.plan.relayed) {
        is_live_ = true;
        out_ = std::make_unique<Screen>(loop, options.stdout_fd, warnings, on_change);
        return;
    }
    if (is_live_) {
        out_ = std::make_unique<Screen>(loop, options.stdout_fd, warnings, live_rules(), on_change);
        return;
    }
    const bool one = Console::same(options.stdout_fd, options.stderr_fd);
    const std::string name = one ? "" : "standard output";
    out_ = std::make_unique<Screen>(loop, options.stdout_fd, name, warnings, rules(options.stdout_fd), on_change);
    if (!one)
        err_ = std::make_unique<Screen>(loop, options.stderr_fd, "", warnings, rules(options.stderr_fd), on_change);
}

LineMixer::Rules Screens::rules(int fd) const {
    LineMixer::Rules rules;
    rules.stamp = stamp_of(options_.plan);
    rules.others_write = options_.gives_terminal && isatty(fd) == 1;
    if (!options_.plan.fold || options_.workers == 1) return rules;
    const bool colours = options_.plan.colours && isatty(fd) == 1;
    rules.coalesced_prefix = [this, colours](const std::vector<int>& local_ranks) {
        const std::string text = prefixes_.of(local_ranks);
        return colours ? coloured(text, local_ranks.front()) : text;
    };
    return rules;
}

LiveMixer::Rules Screens::live_rules() const {
    LiveMixer::Rules rules;
    rules.stamp = stamp_of(options_.plan);
    rules.prefix = [this](const auto& local_ranks) { return short_prefixes_.of(local_ranks); };
    rules.ranks = [this](const auto& local_ranks) { return short_prefixes_.ranks(local_ranks); };
    rules.colours = options_.plan.colours;
    rules.began = options_.began;
    return rules;
}

std::string Screens::prefix(const LogSource& source, const LinePrefixes& by) {
    return source.local_rank == LogSource::kTemplate ? by.of_template() : by.of({source.local_rank});
}

WindowSize Screens::worker_window() const {
    constexpr std::size_t kPrefix = 8, kLeast = 20;
    WindowSize size = window_size(options_.stdout_fd).value_or(window_size(options_.stderr_fd).value_or(WindowSize()));
    if (is_live_) size.columns = std::max(size.columns, kLeast + kPrefix) - kPrefix;
    return size;
}

void Screens::set_rank(const LogSource& source) {
    prefixes_.set_rank(source.local_rank, source.rank);
    short_prefixes_.set_rank(source.local_rank, source.rank);
}

/// A user sees the stream, and types for its worker.
bool Screens::reads_terminal(const LogSource& source, Stream stream) const {
    using Mode = StdinPlan::Mode;
    const StdinPlan& typed = options_.typed;
    const bool is_seen =
        (stream == kStderr && err_ ? *err_ : *out_).terminal() || (options_.plan.front_terminals & stream) != 0;
    const bool reads = typed.mode == Mode::all || (typed.mode == Mode::rank && typed.rank == source.rank);
    return is_seen && reads && source.local_rank != LogSource::kTemplate;
}

LineSource Screens::line(const LogSource& source, Stream stream) const {
    const LogPlan& plan = options_.plan;
    const bool teed = (plan.tee.of(plan.stands_for(source.local_rank)) & stream) != 0;
    LineSource line;
    line.local_rank = source.local_rank;
    line.rank = source.rank;
    line.stream = stream == kStdout ? 0 : 1;
    line.raw = is_raw_ && !teed;
    line.apart = source.local_rank == LogSource::kTemplate;
    line.reads_terminal = reads_terminal(source, stream);
    line.since = base::Clock::now();
    const bool is_short = is_live_ || (plan.prefixed && !teed);
    if (!teed && !is_short && !(line.apart && plan.fold)) return line;  // --fold gives every line a prefix
    line.prefix = prefix(source, is_short ? short_prefixes_ : prefixes_);
    const bool colours = plan.colours && (stream == kStderr && err_ ? *err_ : *out_).terminal();
    if (colours) line.prefix = coloured(line.prefix, source.local_rank);
    return line;
}

}  // namespace dlaunch::agent
