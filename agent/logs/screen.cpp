#include "agent/logs/screen.hpp"

#include <algorithm>

namespace dlaunch::agent {

namespace {

/// A queue of this size is written at once; a shorter one waits for the other sources of this turn of the loop.
constexpr std::size_t kWorthAWrite = 64 << 10;

/// One read of a source with coalesced lines: the other sources need their turn soon.
constexpr std::size_t kCoalescedPortion = 16 << 10;

LineMixer::Rules for_terminal(LineMixer::Rules rules, bool terminal) {
    rules.terminal = terminal;
    return rules;
}

}  // namespace

Screen::Screen(base::Loop& loop, int fd, std::string name, Warnings& warnings, LineMixer::Rules rules,
               std::function<void()> on_change)
    : loop_(loop),
      on_change_(std::move(on_change)),
      console_(loop, fd, std::move(name), warnings, on_change_),
      mixer_(for_terminal(std::move(rules), console_.terminal()), console_.queue()),
      self_(std::make_shared<Screen*>(this)) {}

Screen::~Screen() = default;

void Screen::feed(LineMixer::Source* source, std::string_view bytes) {
    mixer_.feed(source, bytes, base::Clock::now());
    settle();
}

void Screen::end_round() {
    mixer_.end_round(base::Clock::now());
    settle();
    console_.flush();
}

void Screen::end(LineMixer::Source* source) {
    mixer_.end(source, base::Clock::now());
    settle();
}

std::size_t Screen::room(std::size_t lead_bytes) {
    const std::size_t queued = std::min(console_.queue().size(), Console::kQueueBytes);
    const std::size_t fitting = std::max<std::size_t>(4096, (Console::kQueueBytes - queued) / (lead_bytes + 1));
    return mixer_.coalesces() ? std::min(fitting, kCoalescedPortion) : fitting;
}

void Screen::settle() {
    if (const bool released = mixer_.take_released(); released || mixer_.owner() != last_owner_) {
        last_owner_ = mixer_.owner();
        loop_.post(on_change_);
    }
    set_timer();
    if (console_.queue().size() >= kWorthAWrite) return console_.flush();
    if (flush_posted_ || console_.queue().empty()) return;
    flush_posted_ = true;
    loop_.post([weak = std::weak_ptr(self_)] {
        const auto self = weak.lock();
        if (!self) return;
        (*self)->flush_posted_ = false;
        (*self)->console_.flush();
    });
}

void Screen::set_timer() {
    const auto deadline = mixer_.deadline();
    if (!deadline || *deadline >= timer_at_) return;  // the pending timer fires earlier and re-arms itself
    timer_at_ = *deadline;
    timer_ = loop_.after(std::max(base::Duration(0), *deadline - base::Clock::now()), [this] { on_timer(); });
}

void Screen::on_timer() {
    timer_at_ = base::Time::max();
    const base::Time now = base::Clock::now();
    if (console_.full()) mixer_.excuse_owner(now);
    mixer_.advance(now);
    settle();
}

void Screen::print(std::string_view text) {
    if (console_.queue().size() > Console::kQueueBytes + kOwnBytes) {
        dropped_own_ += text.size();
        return;
    }
    mixer_.print(text, base::Clock::now());
    settle();
    console_.flush();
}

}  // namespace dlaunch::agent
