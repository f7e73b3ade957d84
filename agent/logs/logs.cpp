#include "agent/logs/logs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "agent/logs/channel.hpp"
#include "agent/logs/prefix.hpp"
#include "agent/logs/run_directory.hpp"
#include "agent/logs/screen.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {

using base::Result;

namespace {

constexpr int kTemplate = LogSource::kTemplate;
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
        Tail tail;
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

    [[nodiscard]] LineMixer::Rules rules() const;
    [[nodiscard]] std::string prefix(const LogSource& source) const;
    [[nodiscard]] std::string coalesced_prefix(const std::vector<int>& local_ranks, bool colours) const;
    [[nodiscard]] const std::vector<std::string>& filters(Stream stream) const;
    [[nodiscard]] std::unique_ptr<Screen> make_screen(int fd, std::string name);
    [[nodiscard]] Screen& screen(Stream stream) { return stream == kStderr && err_screen ? *err_screen : *out_screen; }

    void start_attempt(const LogSource& source);
    [[nodiscard]] Channel::Targets targets(const LogSource& source, Stream stream, Tail* tail);
    [[nodiscard]] bool on_console(int local_rank, Stream stream) const;
    void expect_workers();
    void set_line(Channel::Targets& into, const LogSource& source, Stream stream);
    template <class Action>
    void for_channels(Action action, bool of_template_too = true);
    void for_template(void (Channel::*action)());
    void on_change();
    void check_drained();
    void give_up();
    void finish_drain(std::uint64_t dropped);
    void check_finished();
    void end_finish();
    [[nodiscard]] base::Time end_of(const Patience& patience);
    template <class Action>
    void for_screens(Action action);

    base::Loop& loop;
    Options options;
    Warnings warnings;
    RunDirectory directory{warnings};
    bool raw, colours_wanted;
    LinePrefixes prefixes;
    int attempt = -1;
    bool template_lives = false;
    bool reader_is_gone = false;                     ///< the last drain was given up
    std::shared_ptr<Impl*> self;                     ///< posted callbacks check that this object still exists
    std::unique_ptr<Screen> out_screen, err_screen;  ///< err_screen is null when both have one destination
    LogFile filtered_out, filtered_err;
    Channel::Shared shared;
    std::unordered_map<int, Worker> workers;  ///< by local rank; declared after all members that its channels use
    std::unique_ptr<Drain> drain;
    std::unique_ptr<Finish> finish;
};

Logs::Impl::Impl(base::Loop& on, Options given)
    : loop(on),
      options(std::move(given)),
      raw(options.console_is_raw && !options.plan.timestamps),
      colours_wanted(options.plan.colours),
      prefixes(options.plan.prefix_template, options.host, options.roles),
      self(std::make_shared<Impl*>(this)),
      shared{loop, options.plan.timestamps, options.workers <= 8 ? 1 << 20 : 256 << 10, {}} {
    const bool one = Console::same(options.stdout_fd, options.stderr_fd);
    out_screen = make_screen(options.stdout_fd, one ? "" : "standard output");
    if (!one) err_screen = make_screen(options.stderr_fd, "");
    shared.on_end = [weak = std::weak_ptr(self)] {
        if (const auto alive = weak.lock()) (*alive)->check_drained();
    };
}

std::unique_ptr<Screen> Logs::Impl::make_screen(int fd, std::string name) {
    LineMixer::Rules rules;
    if (options.plan.timestamps) rules.stamp = [] { return timestamp(std::chrono::system_clock::now()); };
    if (options.plan.fold && options.workers > 1) {
        const bool colours = colours_wanted && isatty(fd) == 1;
        rules.coalesced_prefix = [this, colours](const auto& local_ranks) {
            return coalesced_prefix(local_ranks, colours);
        };
    }
    return std::make_unique<Screen>(loop, fd, std::move(name), warnings, std::move(rules),
                                    [weak = std::weak_ptr(self)] {
                                        if (const auto alive = weak.lock()) (*alive)->on_change();
                                    });
}

std::string Logs::Impl::prefix(const LogSource& source) const {
    return source.local_rank == kTemplate ? prefixes.of_template() : prefixes.of({source.local_rank});
}

std::string Logs::Impl::coalesced_prefix(const std::vector<int>& local_ranks, bool colours) const {
    const std::string text = prefixes.of(local_ranks);
    return colours ? coloured(text, local_ranks.front()) : text;
}

const std::vector<std::string>& Logs::Impl::filters(Stream stream) const {
    return stream == kStdout ? options.plan.stdout_filters : options.plan.stderr_filters;
}

/// Opens the folder and files of a round when its first worker is added.
void Logs::Impl::start_attempt(const LogSource& source) {
    if (source.local_rank != kTemplate) prefixes.set_rank(source.local_rank, source.rank);
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
        made.filter.emplace(filters(stream), prefix(source));
        made.filtered = &filtered;
    }
    set_line(made, source, stream);
    return made;
}

bool Logs::Impl::on_console(int local_rank, Stream stream) const {
    const int of = options.plan.stands_for(local_rank);
    const bool teed = options.plan.tee.of(of) & stream;
    const bool redirected = options.plan.redirects.of(of) & stream;
    const bool hidden = options.plan.shown && !options.plan.shown->contains(of);
    return !hidden && (teed || !redirected);
}

/// Announces all workers of the round: coalesced lines wait also for workers that have not started yet.
void Logs::Impl::expect_workers() {
    for (int local_rank = 0; local_rank < options.workers; ++local_rank)
        for (Stream stream : {kStdout, kStderr})
            if (on_console(local_rank, stream)) screen(stream).expect(local_rank, stream == kStdout ? 0 : 1);
}

/// Sets the console's treatment of a stream, if the console shows it.
void Logs::Impl::set_line(Channel::Targets& into, const LogSource& source, Stream stream) {
    const bool teed = options.plan.tee.of(options.plan.stands_for(source.local_rank)) & stream;
    if (!on_console(source.local_rank, stream)) return;
    into.screen = &screen(stream);
    into.line.local_rank = source.local_rank;
    into.line.stream = stream == kStdout ? 0 : 1;
    into.line.raw = raw && !teed;
    into.line.apart = source.local_rank == kTemplate;
    if (!teed && !(into.line.apart && options.plan.fold)) return;  // --fold gives every line a prefix
    into.line.prefix = prefix(source);
    if (colours_wanted && into.screen->terminal()) into.line.prefix = coloured(into.line.prefix, source.local_rank);
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

template <class Action>
void Logs::Impl::for_screens(Action action) {
    for (Screen* each : {out_screen.get(), err_screen.get()})
        if (each) action(*each);
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
        for_screens([&](Screen& screen) {
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
    for_screens([&](Screen& screen) {
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
    for_screens([&](Screen& screen) { progressed = std::max(progressed, screen.progressed_at()); });
    return progressed + patience.of;
}

void Logs::Impl::check_finished() {
    if (!finish) return;
    bool busy = false;
    for_screens([&](Screen& screen) {
        screen.flush();
        busy |= !screen.idle();
    });
    const base::Time now = base::Clock::now(), end = end_of(finish->patience);
    if (!busy || end <= now) return end_finish();
    finish->patience.look = loop.after(end - now, [this] { check_finished(); });
}

void Logs::Impl::end_finish() {
    Dropped dropped{.out = finish->unread};
    for_screens([&](Screen& each) {
        (&each == &screen(kStderr) ? dropped.err : dropped.out) += each.drop() + each.dropped_own();
    });
    const auto ended = std::move(finish);
    ended->patience.look = {};
    ended->done(dropped);
}

Logs::Logs(base::Loop& loop, Options options) : impl_(std::make_unique<Impl>(loop, std::move(options))) {}
Logs::~Logs() = default;

Result<void> Logs::prepare() {
    const LogPlan& plan = impl_->options.plan;
    if (plan.directory == "/dev/null") return {};
    auto made = impl_->directory.make({.log_directory = plan.directory,
                                       .temporary = impl_->options.temporary,
                                       .job_id = impl_->options.job_id,
                                       .host = impl_->options.is_shared ? impl_->options.host : "",
                                       .keeps_files = plan.keeps_files()});
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
    worker.tail = {};
    worker.last_out = worker.last_err = {};
    const auto channel = [&](base::UniqueFd pipe, Stream stream, Tail* tail, LastLine* last_line) {
        Channel::Targets targets = impl_->targets(source, stream, tail);
        targets.last_line = last_line;
        return std::make_unique<Channel>(impl_->shared, std::move(pipe), std::move(targets));
    };
    worker.out = channel(std::move(readers.out), kStdout, nullptr, &worker.last_out);
    worker.err = channel(std::move(readers.err), kStderr, &worker.tail, &worker.last_err);
}

void Logs::end_template() { impl_->template_lives = false; }

std::vector<std::string> Logs::stderr_tail(int local_rank, int lines) const {
    const auto found = impl_->workers.find(local_rank);
    return found == impl_->workers.end() ? std::vector<std::string>{} : found->second.tail.lines(lines);
}

LastLine Logs::last_line(int local_rank) const {
    const auto found = impl_->workers.find(local_rank);
    if (found == impl_->workers.end()) return {};
    const Impl::Worker& worker = found->second;
    return worker.last_out.at() > worker.last_err.at() ? worker.last_out : worker.last_err;
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
    impl_->for_screens([](Screen& screen) { screen.flush(); });
    impl_->check_drained();
}

void Logs::cut_drain() {
    if (impl_->drain) impl_->give_up();
}

void Logs::print(std::string_view text) { impl_->screen(kStderr).print(text); }
void Logs::print_on_stdout(std::string_view text) { impl_->screen(kStdout).print(text); }
std::vector<std::string> Logs::take_warnings() { return impl_->warnings.take(); }
void Logs::on_warning(std::function<void()> callback) { impl_->warnings.on_new(std::move(callback)); }

void Logs::finish(std::chrono::milliseconds patience, std::function<void(const Dropped&)> done) {
    // A drain may have waited in vain for the reader: offer the report, but wait no longer.
    const auto of = impl_->reader_is_gone ? std::min(patience, kOffer) : patience;
    std::uint64_t unread = 0;
    impl_->for_channels([&](Channel& channel) { unread += channel.give_up(); });  // of a template that still lives
    impl_->finish = std::make_unique<Impl::Finish>(Impl::Finish{{of}, unread, std::move(done)});
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
