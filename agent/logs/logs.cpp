#include "agent/logs/logs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "agent/logs/channel.hpp"
#include "agent/logs/run_directory.hpp"
#include "agent/logs/screens.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {

using base::Result;

namespace {

constexpr int kTemplate = LogSource::kTemplate;
constexpr auto kLookAtSize = std::chrono::milliseconds(200);
constexpr auto kOffer = std::chrono::milliseconds(500);

}  // namespace

struct Logs::Impl {
    /// A wait for the console's reader, which may take so long for its next byte.
    struct Patience {
        std::chrono::milliseconds of;
        base::Time began = base::Clock::now();
        base::Timer look{};
    };
    /// One local rank in its current round.
    struct Worker {
        LogSource source;
        Tail out_tail, err_tail;
        LastLine last_out, last_err;
        std::unique_ptr<Channel> out, err;
    };
    struct Drain {
        Patience patience;
        std::function<void(std::uint64_t)> done;
    };
    struct Finish {
        Patience patience;
        std::uint64_t unread;  ///< bytes of a template for which the console had no space
        std::function<void(const Dropped&)> done;
    };

    Impl(base::Loop& on, Options given);

    [[nodiscard]] const std::vector<std::string>& filters(Stream stream) const;

    void start_attempt(const LogSource& source);
    [[nodiscard]] Channel::Targets targets(const LogSource& source, Stream stream, Tail* tail);
    void expect_workers();
    template <class Action>
    void for_channels(Action action, bool of_template_too = true);
    void for_template(void (Channel::*action)());
    void follow_size(WindowSize size);
    void on_change();
    void check_drained();
    void give_up();
    void finish_drain(std::uint64_t dropped);
    void check_finished();
    void end_finish();
    [[nodiscard]] base::Time end_of(const Patience& patience);

    const Logs* owner = nullptr;
    base::Loop& loop;
    Options options;
    Warnings warnings;
    RunDirectory directory{warnings};
    int attempt = -1;
    bool template_lives = false;
    bool reader_is_gone = false;  ///< the last drain was given up
    std::shared_ptr<Impl*> self;  ///< posted callbacks check that this object still exists
    Screens screens;
    LogFile filtered_out, filtered_err;
    Channel::Shared shared;
    std::unordered_map<int, Worker> workers;  ///< by local rank; declared after all members that its channels use
    base::Timer size_look;
    std::function<void()> resized;
    std::unique_ptr<Drain> drain;
    std::unique_ptr<Finish> finish;
};

Logs::Impl::Impl(base::Loop& on, Options given)
    : loop(on),
      options(std::move(given)),
      self(std::make_shared<Impl*>(this)),
      screens(loop, options, warnings,
              [weak = std::weak_ptr(self)] {
                  if (const auto alive = weak.lock()) (*alive)->on_change();
              }),
      shared{loop, options.plan.timestamps, options.workers <= 8 ? 1 << 20 : 256 << 10, {}} {
    shared.on_end = [weak = std::weak_ptr(self)] {
        if (const auto alive = weak.lock()) (*alive)->check_drained();
    };
}

const std::vector<std::string>& Logs::Impl::filters(Stream stream) const {
    return stream == kStdout ? options.plan.stdout_filters : options.plan.stderr_filters;
}

/// Opens the folder and files of a round when its first worker is added.
void Logs::Impl::start_attempt(const LogSource& source) {
    if (source.local_rank != kTemplate) screens.set_rank(source);
    if (attempt == source.restart_round) return;
    attempt = source.restart_round;
    expect_workers();
    directory.make_attempt(attempt, options.plan.keeps_files());
    if (directory.paths().folder().empty()) return;
    for (auto [stream, name, file] :
         {std::tuple{kStdout, "filtered_stdout.log", &filtered_out}, {kStderr, "filtered_stderr.log", &filtered_err}}) {
        file->close();
        if (filters(stream).empty()) continue;
        file->open(directory.paths().attempt(attempt) + "/" + name, {}, warnings);
    }
}

Channel::Targets Logs::Impl::targets(const LogSource& source, Stream stream, Tail* tail) {
    Channel::Targets made;
    made.tail = tail;
    if (const std::string path = directory.paths().file_of(options.plan, source, stream); !path.empty())
        made.file.open(path, {options.plan.rotate_bytes, options.plan.rotate_keep}, warnings);
    LogFile& filtered = stream == kStdout ? filtered_out : filtered_err;
    if (filtered) {
        made.filter.emplace(filters(stream), screens.file_prefix(source));
        made.filtered = &filtered;
    }
    if (options.plan.hides(source.local_rank)) return made;
    const bool is_shown = options.plan.is_on_console(source.local_rank, stream);
    (is_shown ? made.screen : made.fallback) = &screens.of(stream);
    made.line = screens.line(source, stream);
    made.line.apart = made.line.apart || !is_shown;
    return made;
}

/// Announces all workers of the round: coalesced lines wait also for workers that have not started yet.
void Logs::Impl::expect_workers() {
    for (int local_rank = 0; local_rank < options.workers; ++local_rank)
        for (Stream stream : {kStdout, kStderr})
            if (options.plan.is_on_console(local_rank, stream))
                screens.of(stream).expect(local_rank, stream == kStdout ? 0 : 1);
}

template <class Action>
void Logs::Impl::for_channels(Action action, bool of_template_too) {
    for (auto& [local_rank, worker] : workers) {
        if (local_rank == kTemplate && !of_template_too) continue;
        for (Channel* channel : {worker.out.get(), worker.err.get()})
            if (channel && channel->open()) action(*channel);
    }
}

/// While the template lives: its output at the end of a round belongs to the round, and a drain waits for no more.
void Logs::Impl::for_template(void (Channel::*action)()) {
    if (!template_lives) return;
    const Worker& worker = workers.at(kTemplate);
    for (Channel* channel : {worker.out.get(), worker.err.get()}) (channel->*action)();
}

/// The workers' terminals get each new size of the console's.
void Logs::Impl::follow_size(WindowSize size) {
    size_look = loop.after(kLookAtSize, [this, size] {
        const WindowSize now = owner->worker_window();
        if (now != size) {
            for_channels([now](Channel& channel) { channel.resize(now); });
            if (resized) resized();
        }
        follow_size(now);
    });
}

void Logs::Impl::on_change() {
    for_channels([](Channel& channel) { channel.regulate(); });
    check_drained();
    check_finished();
}

void Logs::Impl::check_drained() {
    if (!drain) return;
    bool busy = false;
    for_channels([&](Channel&) { busy = true; }, !template_lives);
    if (!busy)
        screens.for_each([&](Screen& screen) {
            screen.end_round();
            busy |= !screen.idle();
        });
    if (!busy) {
        reader_is_gone = false;
        return finish_drain(0);
    }
    const base::Time now = base::Clock::now(), end = end_of(drain->patience);
    if (end <= now) return give_up();
    drain->patience.look = loop.after(end - now, [this] { check_drained(); });
}

/// The end of a drain's patience: the rest of the pipes still goes to the files, and to the console where it has space.
void Logs::Impl::give_up() {
    std::uint64_t dropped = 0;
    for_channels([&](Channel& channel) { dropped += channel.give_up(); }, !template_lives);
    screens.for_each([&](Screen& screen) {
        screen.end_round();
        dropped += screen.drop();
    });
    reader_is_gone = dropped > 0;
    finish_drain(dropped);
}

void Logs::Impl::finish_drain(std::uint64_t dropped) {
    const auto ended = std::move(drain);
    ended->patience.look = {};
    for_template(&Channel::resume);
    loop.post([done = std::move(ended->done), dropped] { done(dropped); });
}

base::Time Logs::Impl::end_of(const Patience& patience) {
    base::Time progressed = patience.began;
    screens.for_each([&](Screen& screen) { progressed = std::max(progressed, screen.progressed_at()); });
    return progressed + patience.of;
}

void Logs::Impl::check_finished() {
    if (!finish) return;
    bool busy = false;
    screens.for_each([&](Screen& screen) {
        screen.flush();
        busy |= !screen.idle();
    });
    const base::Time now = base::Clock::now(), end = end_of(finish->patience);
    if (!busy || end <= now) return end_finish();
    finish->patience.look = loop.after(end - now, [this] { check_finished(); });
}

void Logs::Impl::end_finish() {
    Dropped dropped{.out = finish->unread};
    screens.for_each([&](Screen& each) {
        (&each == &screens.of(kStderr) ? dropped.err : dropped.out) += each.drop() + each.dropped_own();
    });
    const auto ended = std::move(finish);
    ended->patience.look = {};
    ended->done(dropped);
}

Logs::Logs(base::Loop& loop, Options options) : impl_(std::make_unique<Impl>(loop, std::move(options))) {
    impl_->owner = this;
}
Logs::~Logs() = default;

Result<void> Logs::prepare() {
    const LogPlan& plan = impl_->options.plan;
    if (plan.directory == "/dev/null") return {};
    auto made = impl_->directory.make({.plan = plan,
                                       .temporary = impl_->options.temporary,
                                       .job_id = impl_->options.job_id,
                                       .program = impl_->options.program,
                                       .host = impl_->options.is_shared ? impl_->options.host : ""});
    if (made || !plan.directory.empty() || plan.keeps_files()) return made;
    impl_->warnings.add(made.error().text + "; the workers have no error files");
    return {};
}

const RunPaths& Logs::paths() const { return impl_->directory.paths(); }

void Logs::make_folders(const std::vector<LogSource>& workers) {
    const bool links = impl_->options.plan.keeps_files();
    for (const LogSource& source : workers) {
        impl_->directory.make_attempt(source.restart_round, links);
        const bool has_link = links && source.local_rank != kTemplate;
        impl_->directory.make_worker(source.local_rank,
                                     has_link ? fmt::format("{}-{}", source.rank, impl_->options.host) : "");
    }
}

void Logs::add_worker(const LogSource& source, OutputEnds readers) {
    impl_->start_attempt(source);
    Impl::Worker& worker = impl_->workers[source.local_rank];
    if (source.local_rank == kTemplate) {
        make_folders({source});  // a template that died between rounds is replaced within a round
        read_now(kTemplate);     // the rest of an earlier template's output
        impl_->template_lives = true;
    }
    worker.out.reset();
    worker.err.reset();
    worker.source = source;
    worker.out_tail = worker.err_tail = {};
    worker.last_out = worker.last_err = {};
    const auto channel = [&](base::UniqueFd pipe, Stream stream, Tail* tail, LastLine* last_line) {
        Channel::Targets targets = impl_->targets(source, stream, tail);
        targets.last_line = last_line;
        return std::make_unique<Channel>(impl_->shared, std::move(pipe), std::move(targets));
    };
    worker.out = channel(std::move(readers.out), kStdout, &worker.out_tail, &worker.last_out);
    worker.err = channel(std::move(readers.err), kStderr, &worker.err_tail, &worker.last_err);
    if (!readers.are_terminals) return;
    worker.out->set_terminal();
    worker.err->set_terminal();
    if (!impl_->size_look) impl_->follow_size(worker_window());
}

void Logs::end_template() { impl_->template_lives = false; }

std::vector<std::string> Logs::stderr_tail(int local_rank, int lines, std::size_t longest) const {
    const auto found = impl_->workers.find(local_rank);
    return found == impl_->workers.end() ? std::vector<std::string>{} : found->second.err_tail.lines(lines, longest);
}

std::vector<std::string> Logs::stdout_tail(int local_rank, int lines, std::size_t longest) const {
    const auto found = impl_->workers.find(local_rank);
    return found == impl_->workers.end() ? std::vector<std::string>{} : found->second.out_tail.lines(lines, longest);
}

std::optional<Tail::Shown> Logs::shown_on_stderr(int local_rank, std::string_view text) const {
    const auto found = impl_->workers.find(local_rank);
    return found == impl_->workers.end() ? std::nullopt : found->second.err_tail.shown(text);
}

LastLine Logs::last_line(int local_rank) const {
    const auto found = impl_->workers.find(local_rank);
    if (found == impl_->workers.end()) return {};
    const Impl::Worker& worker = found->second;
    return worker.last_out.at() > worker.last_err.at() ? worker.last_out : worker.last_err;
}

bool Logs::has_just_shown_stderr(int local_rank) const {
    const auto found = impl_->workers.find(local_rank);
    return found != impl_->workers.end() && found->second.err && found->second.err->is_on_screen();
}

void Logs::read_now(int local_rank) {
    const auto found = impl_->workers.find(local_rank);
    if (found == impl_->workers.end()) return;
    for (Channel* channel : {found->second.out.get(), found->second.err.get()})
        if (channel) channel->read_now();
}

void Logs::drain(std::chrono::milliseconds patience, std::function<void(std::uint64_t)> done) {
    impl_->drain = std::make_unique<Impl::Drain>(Impl::Drain{{patience}, std::move(done)});
    impl_->for_template(&Channel::pause);
    impl_->for_channels([](Channel& channel) { channel.drain(); }, !impl_->template_lives);
    release();
    impl_->screens.for_each([](Screen& screen) { screen.flush(); });
    impl_->check_drained();
}

void Logs::cut_drain() {
    if (impl_->drain) impl_->give_up();
}

bool Logs::is_live() const { return impl_->screens.is_live(); }
void Logs::show(const JobProgress& progress) { impl_->screens.of(kStdout).show(progress); }
void Logs::pause_view() { impl_->screens.of(kStdout).pause(); }
void Logs::resume_view() { impl_->screens.of(kStdout).resume(); }
void Logs::suspend() {
    if (is_live()) impl_->for_channels([](Channel& channel) { channel.read_now(); }, false);
    impl_->screens.for_each([](Screen& screen) { screen.suspend(); });
}
void Logs::release() {
    impl_->screens.for_each([](Screen& screen) { screen.release(); });
}

void Logs::on_resize(std::function<void()> callback) { impl_->resized = std::move(callback); }

WindowSize Logs::worker_window() const { return impl_->screens.worker_window(); }

void Logs::print(std::string_view text) { impl_->screens.of(kStderr).print(text); }
void Logs::print_on_stdout(std::string_view text) { impl_->screens.of(kStdout).print(text); }
std::vector<std::string> Logs::take_warnings() { return impl_->warnings.take(); }
void Logs::on_warning(std::function<void()> callback) { impl_->warnings.on_new(std::move(callback)); }

void Logs::finish(std::chrono::milliseconds patience, std::function<void(const Dropped&)> done) {
    // A drain may have waited in vain for the reader: offer the report, but wait no longer.
    const auto of = impl_->reader_is_gone ? std::min(patience, kOffer) : patience;
    std::uint64_t unread = 0;
    impl_->for_channels([&](Channel& channel) { unread += channel.give_up(); });  // of a template that still lives
    impl_->finish = std::make_unique<Impl::Finish>(Impl::Finish{{of}, unread, std::move(done)});
    release();
    impl_->check_finished();
}

void Logs::cut_finish() {
    if (impl_->finish) impl_->end_finish();
}

void Logs::remove_folder() {
    if (!impl_->options.plan.keeps_files()) impl_->directory.remove();
}

void Logs::close_folder() { impl_->directory.close(); }

}  // namespace dlaunch::agent
