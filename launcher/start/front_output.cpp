#include "launcher/start/front_output.hpp"

#include <unistd.h>

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>
#include <utility>

#include "agent/logs/screen.hpp"
#include "agent/logs/warnings.hpp"
#include "agent/plan.hpp"
#include "agent/status/event_file.hpp"
#include "launcher/start/collected_logs.hpp"
#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 5000ms;  // without progress, at the end
constexpr auto kLookEvery = 100ms;
constexpr auto kHurried = 200ms;

int index_of(FrameKind stream) { return stream == FrameKind::output ? 0 : 1; }

}  // namespace

/// State of the thread alone, except the gate.
struct FrontOutput::Side {
    /// One stream of one host: its place on a screen, and bytes that the screen has no space for.
    struct Stream {
        agent::Mixer::Source* source = nullptr;
        std::deque<std::string> waiting;
    };

    Side(base::Loop& serves, base::Loop& to, Options options, OnTaken taken)
        : loop(serves),
          control(&to),
          raw(options.raw),
          is_typed(options.is_typed),
          on_taken(std::move(taken)),
          logs(std::move(options.log_folder)) {
        const auto on_change = [this] { serve_waiting(); };
        if (options.view) {
            view.emplace(std::move(*options.view));
            out.emplace(loop, STDOUT_FILENO, warnings, view->rules(), on_change);
            view->attach(*out);
        } else {
            out.emplace(loop, STDOUT_FILENO, "standard output", warnings, agent::LineMixer::Rules{}, on_change);
        }
        if (!agent::Console::same(STDOUT_FILENO, STDERR_FILENO))
            err.emplace(loop, STDERR_FILENO, "", warnings, agent::LineMixer::Rules{}, on_change);
        // Warnings arise inside a write: print them from the loop, after that write.
        warnings.on_new([this] { loop.post([this] { print_warnings(); }); });
    }

    void print_warnings() {
        for (const std::string& text : warnings.take()) print("dlaunch: " + text + "\n");
    }

    agent::Screen& screen(FrameKind stream) { return stream == FrameKind::output || !err ? *out : *err; }

    Stream& stream_of(int host, FrameKind kind) {
        Stream& stream = streams[{host, kind}];
        if (!stream.source && !view)
            stream.source = screen(kind).add({.local_rank = host,
                                              .stream = index_of(kind),
                                              .prefix = {},
                                              .raw = raw,
                                              .reads_terminal = is_typed && screen(kind).terminal()});
        return stream;
    }

    /// Written at once, past the screens: they are idle where a status is of use.
    void show_status(const std::string& text) {
        if (view) return out->show_notice(text);
        if (!screen(FrameKind::errors).terminal() || (text.empty() && !has_status) || !is_idle()) return;
        write_now("\r\x1b[K" + text);
        has_status = !text.empty();
    }
    void clear_status() {
        if (has_status) write_now("\r\x1b[K");
        has_status = false;
    }
    static void write_now(const std::string& text) {
        [[maybe_unused]] const auto ignored = write(STDERR_FILENO, text.data(), text.size());
    }

    void print_on_stdout(const std::string& text) {
        clear_status();
        screen(FrameKind::output).print(text);
    }
    void print(const std::string& text) {
        clear_status();
        screen(FrameKind::errors).print(text);
    }

    void warn(const std::string& text) {
        if (!text.empty()) print("dlaunch: " + text + "\n");
    }

    void open_events(const std::string& path) {
        events_on_stdout = path == agent::Plan::kStandardOutput;
        if (events_on_stdout) return;
        auto opened = agent::EventFile::open(path);
        if (!opened) return warn(opened.error().text + "; no event is written");
        events = std::move(*opened);
    }

    void write_event(const std::string& line) {
        if (events_on_stdout) return print_on_stdout(line);
        events.write(line);
        warn(events.take_warning());
    }

    void feed(int host, FrameKind kind, std::string bytes) {
        if (kind == FrameKind::data) {
            warn(logs.add(host, bytes));
            const auto size = static_cast<std::uint32_t>(bytes.size());
            return post([this, host, size] { on_taken(host, {FrameKind::data, size}); });
        }
        clear_status();
        Stream& stream = stream_of(host, kind);
        stream.waiting.push_back(std::move(bytes));
        serve(host, kind, stream);
    }

    void pass(int host, FrameKind kind, const Stream& stream, std::string_view bytes) {
        view ? view->feed(host, kind, bytes) : screen(kind).feed(stream.source, bytes);
    }

    void serve(int host, FrameKind kind, Stream& stream) {
        agent::Screen& on = screen(kind);
        std::uint32_t taken = 0;
        const auto may_feed = [&] { return view ? view->may_feed(host) : on.may_read(stream.source); };
        for (; !stream.waiting.empty() && may_feed(); stream.waiting.pop_front()) {
            pass(host, kind, stream, stream.waiting.front());
            taken += static_cast<std::uint32_t>(stream.waiting.front().size());
        }
        if (taken) post([this, host, kind, taken] { on_taken(host, {kind, taken}); });
    }

    /// In turn, beginning after the stream served last, so that a flood of one host delays no other host.
    void serve_waiting() {
        if (streams.empty()) return;
        auto at = streams.upper_bound(last);
        for (std::size_t count = streams.size(); count > 0; --count, ++at) {
            if (at == streams.end()) at = streams.begin();
            if (at->second.waiting.empty()) continue;
            last = at->first;
            serve(at->first.first, at->first.second, at->second);
        }
    }

    void end(int host) {
        for (const FrameKind kind : {FrameKind::output, FrameKind::errors}) {
            const auto found = streams.find({host, kind});
            if (found == streams.end()) continue;
            for (const std::string& bytes : found->second.waiting) pass(host, kind, found->second, bytes);
            if (!view) screen(kind).end(found->second.source);
            streams.erase(found);
        }
        if (view) view->end(host);
    }

    bool is_idle() { return out->idle() && (!err || err->idle()); }
    void flush() {
        out->flush();
        if (err) err->flush();
    }
    base::Time progressed_at() {
        return err ? std::max(out->progressed_at(), err->progressed_at()) : out->progressed_at();
    }

    /// Ends with the thread's last call.
    void finish(base::Time since) {
        clear_status();
        for (const auto& [key, stream] : std::map(streams)) end(key.first);
        out->pause();
        flush();
        const bool is_over = is_idle();
        const auto patience = hurried ? base::Duration(kHurried) : base::Duration(kPatience);
        if (!is_over && base::Clock::now() - std::max(since, progressed_at()) < patience) {
            again = loop.after(kLookEvery, [this, since] { finish(since); });
            return;
        }
        post([this, is_over] { done(!is_over); });
        loop.stop();
    }

    void post(std::function<void()> callback) {
        const std::lock_guard lock(mutex);
        if (control) control->post(std::move(callback));
    }

    base::Loop& loop;
    std::mutex mutex;
    base::Loop* control;  ///< null: the control loop's side is gone
    const bool raw, is_typed;
    const OnTaken on_taken;
    CollectedLogs logs;
    agent::EventFile events;
    bool events_on_stdout = false;
    agent::Warnings warnings;
    std::optional<FrontView> view;
    std::optional<agent::Screen> out, err;  ///< no err: both are the same terminal, pipe or file
    std::map<std::pair<int, FrameKind>, Stream> streams;
    std::pair<int, FrameKind> last{-1, FrameKind::errors};
    base::Timer again;
    bool hurried = false, has_status = false;
    std::function<void(bool)> done;
};

struct FrontOutput::Thread {
    base::Loop loop;
    std::optional<Side> side;
    std::thread thread;
    std::binary_semaphore has_ended{0};
};

FrontOutput::FrontOutput(base::Loop& control, Options options, OnTaken on_taken)
    : control_(control), thread_(std::make_shared<Thread>()) {
    thread_->loop.measure_turns();
    thread_->side.emplace(thread_->loop, control, std::move(options), std::move(on_taken));
    const base::SignalsBlocked for_the_new_thread;
    thread_->thread = std::thread([thread = thread_] {
        thread->loop.run();
        thread->has_ended.release();
    });
}

FrontOutput::~FrontOutput() {
    {
        const std::lock_guard lock(thread_->side->mutex);
        thread_->side->control = nullptr;
    }
    thread_->loop.stop();
    if (!is_stuck_ && thread_->has_ended.try_acquire_for(1s))
        thread_->thread.join();
    else
        thread_->thread.detach();
}

void FrontOutput::feed(int host, FrameKind stream, std::string bytes) {
    thread_->loop.post([side = &*thread_->side, host, stream, bytes = std::move(bytes)]() mutable {
        side->feed(host, stream, std::move(bytes));
    });
}

void FrontOutput::begin_file(int host, const std::string& name, std::string path) {
    thread_->loop.post([side = &*thread_->side, host, name, path = std::move(path)] {
        side->warn(side->logs.begin_file(host, name, path));
    });
}

void FrontOutput::end(int host) {
    thread_->loop.post([side = &*thread_->side, host] { side->end(host); });
}

void FrontOutput::print_on_stdout(std::string text) {
    thread_->loop.post([side = &*thread_->side, text = std::move(text)] { side->print_on_stdout(text); });
}

void FrontOutput::print(std::string text) {
    thread_->loop.post([side = &*thread_->side, text = std::move(text)] { side->print(text); });
}

void FrontOutput::open_events(std::string path) {
    thread_->loop.post([side = &*thread_->side, path = std::move(path)] { side->open_events(path); });
}

void FrontOutput::write_event(std::string line) {
    thread_->loop.post([side = &*thread_->side, line = std::move(line)] { side->write_event(line); });
}

void FrontOutput::show_status(std::string text) {
    thread_->loop.post([side = &*thread_->side, text = std::move(text)] { side->show_status(text); });
}

void FrontOutput::set_background(bool is_in_background) {
    if (std::exchange(is_in_background_, is_in_background) == is_in_background) return;
    thread_->loop.post([side = &*thread_->side, is_in_background] {
        if (side->view) is_in_background ? side->out->pause() : side->out->resume();
    });
}

void FrontOutput::finish(std::function<void(bool)> done) {
    finished_ = std::move(done);
    thread_->loop.post([this, side = &*thread_->side, hurried = is_hurried_] {
        side->hurried = hurried;
        side->done = [this](bool is_lost) { end_finish(is_lost); };
        side->finish(base::Clock::now());
    });
    watch_finish();
}

/// Gives up a thread that is blocked inside a call.
void FrontOutput::watch_finish() {
    const auto patience = is_hurried_ ? kHurried : kPatience;
    finish_watch_ = control_.after(patience, [this, patience] {
        if (thread_->loop.in_turn_for() < patience) return watch_finish();
        is_stuck_ = true;
        end_finish(true);
    });
}

void FrontOutput::end_finish(bool is_lost) {
    finish_watch_ = {};
    if (finished_) std::exchange(finished_, nullptr)(is_lost);
}

void FrontOutput::hurry() {
    is_hurried_ = true;
    thread_->loop.post([side = &*thread_->side] { side->hurried = true; });
    if (finished_) watch_finish();
}

}  // namespace dlaunch::launcher
