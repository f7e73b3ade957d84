#include "agent/logs/screen.hpp"

#include <algorithm>

#include "agent/logs/live/relay.hpp"
#include "agent/process/window_size.hpp"

namespace dlaunch::agent {

namespace {

/// A queue of this size is written at once; a shorter one waits for the other sources of this turn of the loop.
constexpr std::size_t kWorthAWrite = 64 << 10;

/// One read of a source with coalesced lines: the other sources need their turn soon.
constexpr std::size_t kCoalescedPortion = 16 << 10;

constexpr auto kShowsBlock = std::chrono::milliseconds(25), kBetweenHolds = std::chrono::milliseconds(250);

LineMixer::Rules for_terminal(LineMixer::Rules rules, bool terminal) {
    rules.terminal = terminal;
    return rules;
}

}  // namespace

Screen::Screen(base::Loop& loop, int fd, std::string name, Warnings& warnings, LineMixer::Rules rules,
               std::function<void()> on_change)
    : loop_(loop),
      fd_(fd),
      on_change_(std::move(on_change)),
      console_(loop, fd, std::move(name), warnings, on_change_),
      mixer_(std::make_unique<LineMixer>(for_terminal(std::move(rules), console_.terminal()), console_.queue())),
      self_(std::make_shared<Screen*>(this)) {}

Screen::Screen(base::Loop& loop, int fd, Warnings& warnings, LiveMixer::Rules rules, std::function<void()> on_change)
    : loop_(loop),
      fd_(fd),
      on_change_(std::move(on_change)),
      console_(loop, fd, {}, warnings, on_change_),
      mixer_(std::make_unique<LiveMixer>(std::move(rules), console_.queue())),
      is_live_(true),
      self_(std::make_shared<Screen*>(this)) {
    mixer_->resize(window_size(fd).value_or(WindowSize()));
}

Screen::Screen(base::Loop& loop, int fd, Warnings& warnings, std::function<void()> on_change)
    : loop_(loop),
      fd_(fd),
      on_change_(std::move(on_change)),
      console_(loop, fd, "standard output", warnings, on_change_),
      mixer_(std::make_unique<RelayMixer>(console_.queue())),
      self_(std::make_shared<Screen*>(this)) {}

Screen::~Screen() = default;

void Screen::show(const JobProgress& progress) {
    mixer_->show_progress(progress);
    settle();
}

void Screen::show_notice(std::string text) {
    mixer_->show_notice(std::move(text));
    settle();
}

void Screen::pause() {
    mixer_->pause();
    set_timer();
    console_.flush();
}

void Screen::suspend() {
    mixer_->suspend(base::Clock::now());
    console_.flush();
    if (console_.terminal()) console_.hold();
}

void Screen::resume() {
    mixer_->resume();
    settle();
}

void Screen::feed(Mixer::Source* source, std::string_view bytes) {
    place_.bytes += bytes.size();
    if (terminal()) count_lines(source, bytes);
    mixer_->feed(source, bytes, base::Clock::now());
    settle();
}

void Screen::count_lines(const Mixer::Source* source, std::string_view bytes) {
    place_.lines += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
    if (bytes.ends_with('\n'))
        unfinished_.erase(source);
    else
        unfinished_.insert(source);
}

bool Screen::shows_still(const Place& place) const {
    constexpr std::uint64_t kUsualLine = 20;  // bytes, of lines on terminals
    constexpr std::uint64_t kPage = 4096;     // of a file or pipe
    constexpr std::uint64_t kReport = 8;      // lines
    const std::uint64_t bytes = place_.bytes - place.bytes, lines = place_.lines - place.lines;
    if (!terminal()) return bytes <= kPage;
    const std::uint64_t rows = window_size(fd_).value_or(WindowSize()).rows;
    return bytes <= rows * kUsualLine && lines + kReport <= rows;
}

void Screen::end_round() {
    mixer_->end_round(base::Clock::now());
    settle();
    console_.flush();
}

void Screen::end(Mixer::Source* source) {
    if (unfinished_.erase(source) > 0) ++place_.lines;
    mixer_->end(source, base::Clock::now());
    settle();
}

std::size_t Screen::room(std::size_t lead_bytes) {
    const std::size_t queued = std::min(console_.queue().size(), Console::kQueueBytes);
    const std::size_t fitting = std::max<std::size_t>(4096, (Console::kQueueBytes - queued) / (lead_bytes + 1));
    return mixer_->coalesces() ? std::min(fitting, kCoalescedPortion) : fitting;
}

void Screen::settle() {
    if (mixer_->take_released()) loop_.post(on_change_);
    set_timer();
    if (console_.queue().size() >= kWorthAWrite) return flush_composed();
    const bool has_bytes = !console_.queue().empty() || (is_live_ && mixer_->must_compose(base::Clock::now()));
    if (flush_posted_ || !has_bytes) return;
    flush_posted_ = true;
    loop_.post([weak = std::weak_ptr(self_)] {
        const auto self = weak.lock();
        if (!self) return;
        (*self)->flush_posted_ = false;
        (*self)->flush_composed();
    });
}

/// In a flood of text the terminal would draw the block and erase it before it is visible.
bool Screen::may_go_on() {
    if (!is_live_) return true;
    if (must_hold_ && console_.queue().empty()) hold();
    return !must_hold_ && !holds_ && console_.queue().size() < kMostAhead;
}

void Screen::hold() {
    must_hold_ = false;
    holds_ = true;
    held_at_ = base::Clock::now();
    hold_ = loop_.after(kShowsBlock, [this] {
        holds_ = false;
        on_change_();
    });
}

void Screen::flush_composed() {
    if (is_live_) {
        const bool is_flood = console_.queue().size() >= kMostAhead;
        if (is_flood && !holds_ && base::Clock::now() - held_at_ >= kBetweenHolds) must_hold_ = true;
        if (const auto size = window_size(fd_)) mixer_->resize(*size);
        mixer_->compose(base::Clock::now());
        set_timer();
        if (mixer_->waits_for_view(base::Clock::now())) return;
    }
    console_.flush();
    if (must_hold_ && console_.queue().empty()) hold();
}

void Screen::set_timer() {
    const auto deadline = mixer_->deadline();
    if (!deadline || *deadline >= timer_at_) return;  // the pending timer fires earlier and re-arms itself
    timer_at_ = *deadline;
    timer_ = loop_.after(std::max(base::Duration(0), *deadline - base::Clock::now()), [this] { on_timer(); });
}

void Screen::on_timer() {
    timer_at_ = base::Time::max();
    const base::Time now = base::Clock::now();
    if (console_.full()) mixer_->excuse(now);
    if (is_live_)
        if (const auto size = window_size(fd_)) mixer_->resize(*size);
    mixer_->advance(now);
    settle();
}

void Screen::print(std::string_view text) {
    if (console_.queue().size() > Console::kQueueBytes + kOwnBytes) {
        dropped_own_ += text.size();
        return;
    }
    mixer_->print(text, base::Clock::now());
    settle();
    console_.flush();
}

}  // namespace dlaunch::agent
