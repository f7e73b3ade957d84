#include "agent/logs/lines.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "agent/logs/bar_states.hpp"

namespace dlaunch::agent {

struct LineMixer::Stream : Source {
    LineSource what;
    std::string held;           ///< the unfinished line, or all bytes that arrived while another source had the console
    bool waiting = false;       ///< `held` contains bytes that take() has not seen
    bool ended = false;         ///< to be erased once `held` was shown
    bool after_return = false;  ///< the last piece ended with '\r': a newline that follows belongs to that piece
    bool in_pieces = false;     ///< a part of the current line was shown
    std::size_t shown = 0;      ///< bytes of `held` on the console, valid while the source is the opener
    base::Time update = base::Time::max();  ///< time to show `held`
};

LineMixer::LineMixer(Rules rules, ByteQueue& out) : rules_(std::move(rules)), out_(out) {
    // Bars that move in place cannot be compared between ranks.
    if (coalesces() || rules_.others_write) rules_.terminal = false;
}

LineMixer::~LineMixer() = default;

void LineMixer::expect(int local_rank, int stream) {
    coalesced_ranks_.clear();  // a new round may change the prefix
    if (coalesces()) coalescers_[stream].open(local_rank);
}

void LineMixer::end_round(base::Time now) {
    for (Coalescer& coalescer : coalescers_) coalescer.close_all();
    if (!owner_) show_coalesced(now);
}

const LineMixer::Source* LineMixer::owner() const { return owner_; }

bool LineMixer::ahead(const Source* source) const {
    if (!coalesces()) return false;
    const LineSource& what = static_cast<const Stream*>(source)->what;
    return !what.apart && coalescers_[what.stream].ahead(what.local_rank);
}

bool LineMixer::take_released() {
    const bool first = coalescers_[0].take_released(), second = coalescers_[1].take_released();
    const bool has_new_owner = std::exchange(last_owner_, owner_) != owner_;
    return first || second || has_new_owner;
}

LineMixer::Source* LineMixer::add(LineSource source) {
    if (coalesces(source) && !source.raw) coalescers_[source.stream].open(source.local_rank);
    sources_.push_back(std::make_unique<Stream>());
    sources_.back()->what = std::move(source);
    return sources_.back().get();
}

void LineMixer::erase(Stream* source) {
    std::erase_if(sources_, [&](const auto& each) { return each.get() == source; });
}

void LineMixer::feed(Source* of, std::string_view bytes, base::Time now) {
    if (bytes.empty()) return;
    auto* const source = static_cast<Stream*>(of);
    if (blocked(source)) {
        source->held += bytes;
        source->waiting = true;
        source->shown = 0;
        source->update = base::Time::max();
        return;
    }
    if (source->what.raw) {
        out_.append(bytes);
        open_ = bytes.back() != '\n';
        opener_ = this;  // not `source`: the two raw streams of a lone worker may continue each other's lines
        return;
    }
    const bool owned = owner_ == source;
    if (owned) bytes = go_on(bytes, now);
    if (!bytes.empty()) take(*source, bytes, now);
    if (owned && !owner_) serve_waiting(now);
}

/// Shows more of the line that has the console; returns the bytes after that line.
std::string_view LineMixer::go_on(std::string_view bytes, base::Time now) {
    const std::size_t newline = bytes.find('\n');
    owner_spoke_ = now;
    if (newline == std::string_view::npos) {
        out_.append(bytes);
        return {};
    }
    out_.append(bytes.substr(0, newline + 1));
    owner_ = nullptr;
    open_ = false;
    return bytes.substr(newline + 1);
}

void LineMixer::take(Stream& source, std::string_view bytes, base::Time now) {
    const std::size_t last = bytes.rfind('\n');
    if (last == std::string_view::npos) return hold(source, bytes, now);

    std::string_view whole = bytes.substr(0, last + 1);
    if (!source.held.empty()) {
        const std::size_t first = whole.find('\n');
        std::string line;
        line.swap(source.held);
        line += whole.substr(0, first + 1);
        whole.remove_prefix(first + 1);
        source.update = base::Time::max();
        show(source, rules_.others_write ? last_state(line) : line, now);
    }
    show(source, whole, now);
    hold(source, bytes.substr(last + 1), now);
}

void LineMixer::hold(Stream& source, std::string_view bytes, base::Time now) {
    source.held += bytes;
    if (source.shown > 0 || bytes.find('\r') != std::string_view::npos)
        plan_update(source, now);
    else if (source.what.reads_terminal && !source.held.empty())
        plan_update_at(source, now + rules_.prompt_after);
    if (source.held.size() <= rules_.hold_limit) return;
    show_coalesced(base::Time::max());
    begin(source.what.prefix);
    put(source, source.held);
    std::string().swap(source.held);
    source.update = base::Time::max();
    source.in_pieces = source.after_return = false;
    open_ = true;
    opener_ = owner_ = &source;
    owner_spoke_ = now;
}

void LineMixer::begin(const std::string& prefix) {
    lead_.clear();
    if (rules_.stamp) lead_ = rules_.stamp();
    lead_ += prefix;
}

void LineMixer::show(Stream& source, std::string_view lines, base::Time now) {
    if (lines.empty()) return;
    if (coalesces(source.what)) {
        for (Coalescer& coalescer = coalescers_[source.what.stream]; !lines.empty();) {
            const std::size_t length = lines.find('\n') + 1;
            coalescer.add(source.what.local_rank, last_state(lines.substr(0, length)), now);
            lines.remove_prefix(length);
        }
        return show_coalesced(now);
    }
    begin(source.what.prefix);
    if (rules_.terminal || std::exchange(source.in_pieces, false)) return show_pieces(source, lines);
    close_piece(&source);
    show_lines(lines);
}

/// The hot loop: millions of lines a second pass here.
void LineMixer::show_lines(std::string_view lines) {
    open_ = false;
    if (lead_.empty()) return out_.append(lines);
    const char* from = lines.data();
    const char* const end = from + lines.size();
    const std::size_t lead = lead_.size();
    while (from != end) {
        const auto* newline = static_cast<const char*>(std::memchr(from, '\n', static_cast<std::size_t>(end - from)));
        const auto length = static_cast<std::size_t>(newline + 1 - from);
        char* to = out_.reserve(lead + length);
        std::memcpy(to, lead_.data(), lead);
        std::memcpy(to + lead, from, length);
        out_.commit(lead + length);
        from += length;
    }
}

void LineMixer::show_pieces(Stream& source, std::string_view pieces) {
    while (!pieces.empty()) {
        std::size_t last = pieces.find_first_of("\r\n");
        if (pieces[last] == '\r' && last + 1 < pieces.size() && pieces[last + 1] == '\n') ++last;
        const std::string_view piece = pieces.substr(0, last + 1);
        pieces.remove_prefix(last + 1);
        if (piece == "\r") continue;  // the cursor already stands at the start of the line
        if (piece == "\n" && source.after_return) {
            source.after_return = false;
            if (opener_ == &source) close_piece(nullptr);
            continue;
        }
        put(source, piece);
        open_ = source.after_return = piece.back() == '\r';
    }
}

/// Appends a piece: continues the open line where the console already shows the piece's beginning, else starts with the
/// prefix.
void LineMixer::put(Stream& source, std::string_view piece) {
    close_piece(&source);
    const std::size_t shown = std::exchange(source.shown, 0);
    const bool goes_on = open_ && shown > 0;
    if (!goes_on) out_.append(lead_);
    out_.append(piece.substr(goes_on ? shown : 0));
    opener_ = &source;
}

void LineMixer::plan_update(Stream& source, base::Time now) {
    const bool may_rewrite = rules_.terminal || source.what.reads_terminal;
    if (may_rewrite && (!open_ || opener_ == &source)) return show_update(source);
    plan_update_at(source, now + rules_.update_every);
}

void LineMixer::plan_update_at(Stream& source, base::Time at) {
    source.update = std::min(source.update, at);
    next_update_ = std::min(next_update_, source.update);
}

void LineMixer::show_update(Stream& source) {
    source.update = base::Time::max();
    std::string states;
    states.swap(source.held);
    const std::size_t end = states.rfind('\r') + 1;
    source.held = states.substr(end);
    states.resize(end);
    begin(source.what.prefix);
    if (!states.empty()) show_pieces(source, states);
    source.in_pieces = true;
    if (source.held.empty()) return;
    put(source, source.held);
    open_ = true;
    source.after_return = false;
    source.shown = source.held.size();
}

void LineMixer::show_latest_state(Stream& source) {
    source.update = base::Time::max();
    const std::vector<std::string_view> states = states_of(source.held);
    if (states.empty()) return source.held.clear();
    const std::string line = std::string(states.back()) + '\n';
    source.held.erase(0, source.held.rfind('\r') + 1);
    begin(source.what.prefix);
    close_piece(nullptr);
    show_lines(line);
}

/// Shows one state of each bar, for equal bars of several ranks the latest that all have had: equal states fold. All
/// bars of the stream are due together.
void LineMixer::coalesce_states(int stream, base::Time now) {
    std::vector<std::pair<Stream*, std::vector<std::string_view>>> bars;
    std::vector<std::string> texts(sources_.size());
    for (std::size_t at = 0; at < sources_.size(); ++at) {
        Stream& each = *sources_[at];
        if (each.what.stream != stream || each.update == base::Time::max()) continue;
        each.update = base::Time::max();
        const std::size_t end = each.held.rfind('\r') + 1;
        texts[at] = each.held.substr(0, end);
        each.held.erase(0, end);
        if (auto states = states_of(texts[at]); !states.empty()) bars.emplace_back(&each, std::move(states));
    }
    if (bars.empty()) return;
    const auto have_all = [&](std::string_view state) {
        return std::ranges::all_of(
            bars, [&](const auto& bar) { return std::ranges::find(bar.second, state) != bar.second.end(); });
    };
    const auto& of_first = bars.front().second;
    const auto common = std::find_if(of_first.rbegin(), of_first.rend(), have_all);
    for (const auto& [source, states] : bars) {
        const std::string_view shown = common != of_first.rend() ? *common : states.back();
        coalescers_[stream].add(source->what.local_rank, std::string(shown) + '\n', now);
    }
    show_coalesced(now);
}

void LineMixer::show_updates(base::Time now) {
    if (now < next_update_) return;
    next_update_ = base::Time::max();
    for (const auto& source : sources_) {
        if (source->update <= now) {
            if (coalesces(source->what))
                coalesce_states(source->what.stream, now);
            else
                rules_.others_write ? show_latest_state(*source) : show_update(*source);
        }
        next_update_ = std::min(next_update_, source->update);
    }
}

void LineMixer::show_coalesced(base::Time now) {
    if (!coalesces()) return;
    for (Coalescer& coalescer : coalescers_)
        while (auto line = coalescer.next(now)) show_coalesced(*line);
}

void LineMixer::show_coalesced(const Coalescer::Line& line) {
    if (line.ranks != coalesced_ranks_) {
        coalesced_ranks_ = line.ranks;
        coalesced_prefix_ = rules_.coalesced_prefix(line.ranks);
    }
    close_piece(nullptr);
    begin(coalesced_prefix_);
    show_lines(line.text);
}

void LineMixer::close_piece(const void* unless_of) {
    if (!open_ || (unless_of && opener_ == unless_of)) return;
    out_.append("\n");
    open_ = false;
}

void LineMixer::end(Source* of, base::Time now) {
    auto* const source = static_cast<Stream*>(of);
    if (blocked(source)) {
        source->waiting = source->ended = true;
        return;
    }
    const bool owned = owner_ == source;
    if (owned) {
        close_piece(nullptr);
        owner_ = nullptr;
    }
    if (!source->held.empty()) {
        source->held += '\n';
        show(*source, source->held, now);
    }
    if (opener_ == source) close_piece(nullptr);
    if (coalesces(source->what) && !source->what.raw) {
        coalescers_[source->what.stream].close(source->what.local_rank);
        show_coalesced(now);
    }
    erase(source);
    if (owned) serve_waiting(now);
}

void LineMixer::serve_waiting(base::Time now) {
    while (!owner_) {
        const auto next =
            std::find_if(sources_.begin(), sources_.end(), [](const auto& each) { return each->waiting; });
        if (next == sources_.end()) return;
        Stream* source = next->get();
        source->waiting = false;
        std::string bytes;
        bytes.swap(source->held);
        if (!bytes.empty()) take(*source, bytes, now);
        if (source->ended) end(source, now);
    }
}

void LineMixer::give_up_console(base::Time now) {
    close_piece(nullptr);
    owner_ = nullptr;
    serve_waiting(now);
}

void LineMixer::print(std::string_view text, base::Time now) {
    if (text.empty()) return;
    show_coalesced(base::Time::max());
    close_piece(nullptr);
    out_.append(text);
    open_ = text.back() != '\n';
    opener_ = nullptr;
    if (owner_) {
        owner_ = nullptr;
        serve_waiting(now);
    }
}

std::optional<base::Time> LineMixer::deadline() const {
    if (owner_) return owner_spoke_ + rules_.patience;
    std::optional<base::Time> earliest = coalescers_[0].deadline();
    if (auto other = coalescers_[1].deadline(); other && (!earliest || *other < *earliest)) earliest = other;
    if (next_update_ != base::Time::max() && (!earliest || next_update_ < *earliest)) earliest = next_update_;
    return earliest;
}

void LineMixer::advance(base::Time now) {
    if (owner_ && now >= owner_spoke_ + rules_.patience) give_up_console(now);
    if (owner_) return;
    show_updates(now);
    show_coalesced(now);
}

}  // namespace dlaunch::agent
