#include "agent/io/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "agent/io/output_side.hpp"
#include "agent/status/write_reports.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::agent {
namespace {

constexpr std::string_view kPrefix = "dlaunch: ";
constexpr std::size_t kMostNewWorkers = 16;

}  // namespace

Output::Output(base::Loop& control, const Plan& plan, Logs::Options options, const Bounds& bounds)
    : control_(control), bounds_(bounds), gate_(std::make_shared<Gate>(control)) {
    try {
        thread_ = std::make_shared<Thread>();
        thread_->loop.measure_turns();
        const base::SignalsBlocked for_the_new_thread;
        thread_->thread = std::thread([thread = thread_] {
            thread->loop.run();
            thread->has_ended.release();
        });
    } catch (const std::system_error&) {
        thread_.reset();
    }
    base::Loop& serves = thread_ ? thread_->loop : control;
    side_ = std::make_shared<Side>(plan, serves, std::move(options), bounds.patience);
    if (thread_) thread_->side = side_;
}

Output::~Output() {
    gate_->close();
    if (!thread_) return;
    thread_->loop.stop();
    if (!given_up_ && thread_->has_ended.try_acquire_for(bounds_.stall))
        thread_->thread.join();
    else
        thread_->thread.detach();
}

base::Loop& Output::loop() { return side_->loop; }

/// Time since the start of the thread's current callback; zero while the thread waits for events.
base::Duration Output::in_call_for() const { return thread_ ? thread_->loop.in_turn_for() : base::Duration::zero(); }

void Output::post(std::function<void(Side&)> work) {
    post_new_workers();
    side_->loop.post([side = side_.get(), work = std::move(work)] { work(*side); });
}

/// In its third turn from now the thread has read the pipes that are ready now, in the order in which they became
/// ready: so the times of two ranks' errors can be compared.
void Output::post_behind_reads(std::function<void(Side&)> work) {
    post([work = std::move(work)](Side& side) {
        side.loop.post([&side, work] { side.loop.post([&side, work] { work(side); }); });
    });
}

/// Waits for a turn of the control loop that starts no worker: a wake-up of the thread costs as much as a start.
void Output::post_new_workers_after(std::size_t known) {
    if (new_workers_.size() <= known) return post_new_workers();
    gate_->post([this, now = new_workers_.size()] { post_new_workers_after(now); });
}

void Output::post_new_workers() {
    if (new_workers_.empty()) return;
    side_->loop.post([side = side_.get(), workers = std::exchange(new_workers_, {})] {
        for (const auto& worker : workers) side->logs.add_worker(worker.source, std::move(*worker.readers));
    });
}

/// Counts the bytes, so that callers can drop requests while the thread is stalled.
void Output::post_bounded(std::size_t bytes, std::function<void(Side&)> work) {
    side_->queued_bytes += bytes;
    post([bytes, work = std::move(work)](Side& side) {
        side.queued_bytes -= bytes;
        work(side);
    });
}

void Output::prepare(OtherFiles other, std::function<void(base::Result<void>)> done) {
    post([this, gate = gate_, other = std::move(other), done = std::move(done)](Side& side) mutable {
        auto made = side.prepare(std::move(other));
        gate->post([this, made = std::move(made), paths = side.logs.paths(), done = std::move(done)] {
            start_watch_ = {};
            paths_ = paths;
            done(made);
        });
    });
    start_watch_ = control_.after(bounds_.silent_start, [this] { explain_start(); });
}

/// In a thread of its own: the I/O thread is inside the call, and stderr may have no reader.
void Output::explain_start() {
    const std::string line =
        fmt::format("{}the job has not begun: the file system of {} does not answer\n", kPrefix, side_->object());
    warning_ = base::Background(control_, [line]() -> std::function<void()> {
        if (write(STDERR_FILENO, line.data(), line.size()) < 0) return {};
        return {};
    });
}

void Output::make_folders(std::vector<LogSource> workers, std::function<void()> done) {
    post([gate = gate_, workers = std::move(workers), done = std::move(done)](Side& side) {
        side.logs.make_folders(workers);
        gate->post(done);
    });
}

/// A program writes each line to a terminal at once, but Python does so anyway. Files should be free of a terminal's
/// colours.
base::Result<WorkerPipes> Output::make_ends(const LogSource& source) const {
    const LogPlan& logs = side_->plan.logs;
    const auto has_file = [&](Stream stream) { return logs.has_file(logs.stands_for(source.local_rank), stream); };
    const bool is_default = side_->logs.is_live() && !side_->plan.context_of(source.local_rank).program.is_python &&
                            !has_file(kStdout) && !has_file(kStderr);
    if (!logs.terminals.value_or(is_default)) return make_worker_pipes();
    auto made = make_worker_terminals(side_->logs.worker_window());
    return made || logs.terminals ? std::move(made) : make_worker_pipes();
}

base::Result<OutputEnds> Output::add_worker(const LogSource& source) {
    auto pipes = make_ends(source);
    if (!pipes) return pipes.error();
    if (new_workers_.empty()) gate_->post([this] { post_new_workers_after(0); });
    new_workers_.push_back({source, std::make_shared<OutputEnds>(std::move(pipes->readers))});
    if (new_workers_.size() == kMostNewWorkers) post_new_workers();
    return std::move(pipes->writers);
}

void Output::end_template() {
    post([](Side& side) { side.logs.end_template(); });
}

void Output::inspect(const LogSource& source, std::function<void(Evidence)> done) {
    post_behind_reads([gate = gate_, source, done = std::move(done)](Side& side) {
        side.logs.read_now(source.local_rank);
        gate->post([done, found = side.evidence(source)] { done(found); });
    });
}

// --- the end of a round ----------------------------------------------------------------------------------------------

void Output::drain(std::vector<LogSource> failed, std::function<void(Drained)> done) {
    const std::uint64_t number = ++drains_;
    drained_ = std::move(done);
    post_behind_reads([this, gate = gate_, number, failed = std::move(failed)](Side& side) {
        side.logs.drain(side.patience, [this, gate, number, failed, &side](std::uint64_t dropped) {
            Drained drained{.dropped_bytes = dropped};
            for (const LogSource& source : failed) drained.evidence[source.local_rank] = side.evidence(source);
            gate->post([this, number, drained = std::move(drained)] { end_drain(number, drained); });
        });
    });
    if (hurried_) cut_drain();
    watch_drain(number);
}

void Output::watch_drain(std::uint64_t number) {
    const base::Duration left = bounds_.stall - in_call_for();
    drain_watch_ = control_.after(std::max<base::Duration>(left, std::chrono::milliseconds(1)), [this, number] {
        if (in_call_for() >= bounds_.stall) return end_drain(number, {.stalled = true});
        watch_drain(number);
    });
}

void Output::end_drain(std::uint64_t number, Drained drained) {
    if (number != drains_ || !drained_) return;
    drain_watch_ = {};
    std::exchange(drained_, nullptr)(std::move(drained));
}

void Output::cut_drain() {
    post_behind_reads([](Side& side) { side.logs.cut_drain(); });
}

// --- lines -----------------------------------------------------------------------------------------------------------

void Output::print(const std::string& text) {
    if (side_->queued_bytes > kMostQueuedBytes) {
        ++side_->lost_lines;
        return;
    }
    post_bounded(text.size(), [text](Side& side) { side.print(text); });
}

void Output::on_resize(std::function<void()> resized) {
    post([gate = gate_, resized = std::move(resized)](Side& side) {
        side.logs.on_resize([gate, resized] { gate->post(resized); });
    });
}

void Output::show(const JobProgress& progress) {
    if (!side_->logs.is_live() || progress == shown_) return;
    shown_ = progress;
    post([progress](Side& side) { side.logs.show(progress); });
}

void Output::suspend(std::function<void()> done) {
    suspended_ = std::make_shared<std::function<void()>>(std::move(done));
    const auto call = [once = suspended_] {
        if (auto wanted = std::exchange(*once, nullptr)) wanted();
    };
    post([gate = gate_, call](Side& side) {
        side.logs.suspend();
        gate->post(call);
    });
    pause_due_ = control_.after(bounds_.hurried, call);
}

void Output::resume(bool is_in_background) {
    if (!suspended_ && !side_->logs.is_live()) return;
    if (suspended_) *suspended_ = nullptr;
    suspended_.reset();
    post([is_in_background](Side& side) {
        side.logs.release();
        is_in_background ? side.logs.pause_view() : side.logs.resume_view();
    });
}

void Output::write_event(std::string line) {
    if (side_->queued_bytes > kMostQueuedBytes) {
        ++side_->lost_events;
        return;
    }
    const std::size_t bytes = line.size();
    ++side_->queued_events;
    post_bounded(bytes, [line = std::move(line)](Side& side) {
        if (const std::uint64_t lost = side.lost_events.exchange(0)) side.events.add_lost(lost);
        side.doing = Doing::event_log;
        if (side.plan.event_log == Plan::kStandardOutput)
            side.logs.print_on_stdout(line);
        else
            side.events.write(line);
        --side.queued_events;
        side.doing = side.logging();
        side.print_warnings();
    });
}

// --- the end of the job ----------------------------------------------------------------------------------------------

/// The last call on the thread, which exits while the control loop takes the result.
std::function<void(const std::string&)> Output::thread_end() {
    return [this, gate = gate_, thread = thread_.get()](const std::string& lost) {
        gate->post([this, lost] { end_finish(lost); });
        if (thread) thread->loop.stop();
    };
}

void Output::finish(FinalOutput final_output, std::function<void(const std::string&)> done) {
    finished_ = std::move(done);
    final_output_ = std::make_shared<const FinalOutput>(std::move(final_output));
    post([ended = thread_end(), final_output = final_output_](Side& side) { side.finish(final_output.get(), ended); });
    watch_finish(bounds_.patience, bounds_.patience);
    if (hurried_) hurry();
}

void Output::abandon(std::function<void(const std::string&)> done) {
    finished_ = std::move(done);
    side_->report_is_shown = true;
    post([ended = thread_end()](Side& side) { side.finish(nullptr, ended); });
    hurry();
}

/// Gives up only a thread that is stuck inside a call. A thread that returns to its loop applies its own patience.
void Output::watch_finish(std::chrono::milliseconds patience, base::Duration wait) {
    finish_watch_ = control_.after(wait, [this, patience] {
        if (const base::Duration left = patience - in_call_for(); left > base::Duration::zero())
            return watch_finish(patience, left);
        give_up_thread();
    });
}

/// The reports may lie on another file system than the one that does not answer: another thread writes them.
void Output::give_up_thread() {
    given_up_ = true;
    std::string lost = side_->failure() + ": the file system does not answer";
    if (side_->doing == Doing::log_files || side_->doing == Doing::output)
        lost += "; the workers' output since then is lost";
    if (const int events = side_->queued_events + static_cast<int>(side_->lost_events))
        lost += fmt::format("; the event log lacks {} event{}", events, events == 1 ? "" : "s");
    if (!final_output_ || side_->reports_are_written || side_->doing == Doing::report) return end_without_thread(lost);
    reports_ = base::Background(
        control_, [this, lost, plan = side_->plan, final_output = final_output_]() -> std::function<void()> {
            std::string text = lost;
            for (const auto& warning : write_reports(plan, final_output->report)) text += "; " + warning;
            return [this, text] { end_without_thread(text); };
        });
    finish_watch_ = control_.after(hurried_ ? bounds_.hurried : bounds_.stall,
                                   [this, lost] { end_without_thread(lost + "; the report could not be written"); });
}

/// Destroys its callers, which hold their texts. The printer puts the prefix before the first line.
void Output::end_without_thread(std::string lost) {
    reports_ = {};
    std::string text;
    if (final_output_ && !side_->report_is_shown) {
        text = final_output_->text;
        for (const std::string& line : final_output_->lines)
            text += fmt::format("{}{}\n", kPrefix, base::printable(line));
    }
    text += std::string(kPrefix) + std::move(lost);
    end_finish(text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text);
}

void Output::end_finish(const std::string& lost) {
    finish_watch_ = {};
    if (finished_) std::exchange(finished_, nullptr)(lost);
}

void Output::hurry() {
    hurried_ = true;
    cut_drain();
    post([](Side& side) { side.logs.cut_finish(); });
    if (finished_) watch_finish(bounds_.hurried, bounds_.hurried);
}

}  // namespace dlaunch::agent
