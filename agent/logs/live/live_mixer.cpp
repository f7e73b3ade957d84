#include "agent/logs/live/live_mixer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "agent/logs/prefix.hpp"
#include "rendezvous/base/columns.hpp"

namespace dlaunch::agent {

struct LiveMixer::Stream : Source {
    LineSource what;
    OpenRows rows;      ///< lines that are not final
    std::string block;  ///< whole lines of stderr that wait for more
    base::Time block_since{}, block_grew{};
    base::Time spoke{};
    std::uint64_t changed = 0;  ///< number of the latest change of `rows`
};

namespace {

constexpr std::size_t kMostQueued = 1 << 20;  ///< no block is drawn for a terminal that is so far behind
constexpr std::size_t kFewestTextRows = 3;    ///< rows of the screen that the block leaves to the text
constexpr auto kSecond = std::chrono::seconds(1);

}  // namespace

LiveMixer::LiveMixer(Rules rules, ByteQueue& out) : rules_(std::move(rules)), out_(out), painter_(out) {}
LiveMixer::~LiveMixer() = default;

// --- lines -----------------------------------------------------------------------------------------------------------

void LiveMixer::expect(int local_rank, int stream) {
    prefixed_ranks_.clear();  // a new round may change the prefix
    coalescers_.at(static_cast<std::size_t>(stream)).open(local_rank);
}

void LiveMixer::end_round(base::Time now) {
    end_blocks(now, true);
    for (Coalescer& coalescer : coalescers_) coalescer.close_all();
    show_coalesced(now);
}

Mixer::Source* LiveMixer::add(LineSource source) {
    if (!source.apart) coalescers_.at(static_cast<std::size_t>(source.stream)).open(source.local_rank);
    streams_.push_back(std::make_unique<Stream>());
    streams_.back()->what = std::move(source);
    return streams_.back().get();
}

void LiveMixer::feed(Source* source, std::string_view bytes, base::Time now) {
    auto& stream = *static_cast<Stream*>(source);
    stream.spoke = now;
    // An empty line at the start may be the place of a nested progress bar.
    if (stream.rows.is_fresh(now) && is_simple(bytes) && !bytes.starts_with('\n')) {
        const std::size_t whole = bytes.rfind('\n') + 1;  // 0: no newline
        take(stream, bytes.substr(0, whole), now);
        bytes.remove_prefix(whole);
    }
    if (!bytes.empty()) {
        stream.changed = ++changes_;
        is_changed_ = true;
        take(stream, stream.rows.feed(bytes, now), now);
    }
    show_coalesced(now);
}

/// Passes whole lines on: those of stderr as parts of a block.
void LiveMixer::take(Stream& stream, std::string_view lines, base::Time now) {
    if (lines.empty()) return;
    if (stream.what.stream == 1) {
        if (stream.block.empty()) stream.block_since = now;
        stream.block_grew = now;
        stream.block += lines;
        if (stream.block.size() > kMostBlockBytes) end_block(stream, now);
        return;
    }
    if (stream.what.apart) return emit(prefix_of(stream), lines);
    while (!lines.empty()) {
        const std::size_t length = lines.find('\n') + 1;
        coalescers_[0].add(stream.what.local_rank, lines.substr(0, length), now);
        lines.remove_prefix(length);
    }
}

/// Equal blocks of several ranks are shown once, as equal lines are.
void LiveMixer::end_block(Stream& stream, base::Time now) {
    if (stream.block.empty()) return;
    if (stream.what.apart)
        emit(prefix_of(stream), stream.block);
    else
        coalescers_[1].add(stream.what.local_rank, stream.block, now);
    stream.block.clear();
}

void LiveMixer::end_blocks(base::Time now, bool all) {
    for (const auto& stream : streams_)
        if (all || now >= stream->block_grew + rules_.block_pause || now >= stream->block_since + rules_.block_lasts)
            end_block(*stream, now);
}

/// What a rank printed on stdout before its block of stderr is shown above the block.
void LiveMixer::show_coalesced(base::Time now) {
    auto& [of_stdout, of_stderr] = coalescers_;
    while (const auto line = of_stdout.next(now)) emit(*line);
    while (const auto block = of_stderr.next(now)) {
        for (const int local_rank : block->ranks)
            while (const auto line = of_stdout.next_of(local_rank, block->since)) emit(*line);
        emit(*block);
    }
}

void LiveMixer::emit(const Coalescer::Line& line) {
    if (line.ranks != prefixed_ranks_) {
        prefixed_ranks_ = line.ranks;
        prefix_ = painted_prefix(line.ranks);
    }
    emit(prefix_, line.text);
}

std::string LiveMixer::painted_prefix(const std::vector<int>& local_ranks) const {
    const std::string text = rules_.prefix(local_ranks);
    return rules_.colours ? coloured(text, local_ranks.front()) : text;
}

std::string LiveMixer::prefix_of(const Stream& stream) const {
    return stream.what.apart ? stream.what.prefix : painted_prefix({stream.what.local_rank});
}

void LiveMixer::emit(const std::string& prefix, std::string_view lines) {
    painter_.erase();
    text_bytes_ += lines.size();
    const std::string lead = (rules_.stamp ? rules_.stamp() : std::string()) + prefix;
    while (!lines.empty()) {
        const std::size_t end = lines.find('\n');
        out_.append(lead);
        out_.append(lines.substr(0, end));
        out_.append("\r\n");
        lines.remove_prefix(end + 1);
    }
}

void LiveMixer::end(Source* source, base::Time now) {
    auto& stream = *static_cast<Stream*>(source);
    take(stream, stream.rows.finish(), now);
    end_block(stream, now);
    if (!stream.what.apart) coalescers_.at(static_cast<std::size_t>(stream.what.stream)).close(stream.what.local_rank);
    show_coalesced(now);
    std::erase_if(streams_, [&](const auto& each) { return each.get() == &stream; });
    is_changed_ = true;
}

bool LiveMixer::must_wait(const Source* source) const {
    const LineSource& what = static_cast<const Stream*>(source)->what;
    return !what.apart && coalescers_.at(static_cast<std::size_t>(what.stream)).ahead(what.local_rank);
}

bool LiveMixer::take_released() {
    const bool first = coalescers_[0].take_released(), second = coalescers_[1].take_released();
    return first || second;
}

/// Shows whole lines that wait for other ranks or for more of their block.
void LiveMixer::show_held(base::Time now) {
    for (const auto& stream : streams_) take(*stream, stream->rows.give_way(now), now);
    end_blocks(now, true);
    show_coalesced(base::Time::max());
}

void LiveMixer::print(std::string_view text, base::Time now) {
    if (text.empty()) return;
    show_held(now);
    painter_.erase();
    text_bytes_ += text.size();
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        out_.append(text.substr(0, end));
        out_.append("\r\n");
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

std::optional<base::Time> LiveMixer::deadline() const {
    base::Time earliest = is_paused_ ? base::Time::max() : std::min(next_draw(), looked_at_ + rules_.between_looks);
    for (const Coalescer& coalescer : coalescers_)
        if (const auto other = coalescer.deadline()) earliest = std::min(earliest, *other);
    for (const auto& stream : streams_) {
        if (const auto other = stream->rows.deadline(); other && !is_suspended_) earliest = std::min(earliest, *other);
        if (!stream->block.empty())
            earliest =
                std::min({earliest, stream->block_grew + rules_.block_pause, stream->block_since + rules_.block_lasts});
    }
    return earliest == base::Time::max() ? std::nullopt : std::optional(earliest);
}

void LiveMixer::advance(base::Time now) {
    looked_at_ = now;
    for (const auto& stream : streams_) {
        if (is_suspended_) break;
        const std::string lines = stream->rows.advance(now);
        is_changed_ |= !lines.empty();
        take(*stream, lines, now);
    }
    end_blocks(now, false);
    show_coalesced(now);
}

// --- the block -------------------------------------------------------------------------------------------------------

/// Without a change the clock of the status line goes on.
base::Time LiveMixer::next_draw() const {
    const base::Time first = rules_.began + rules_.begins_after;
    if (text_bytes_ > 0)
        return std::max(first, drawn_at_ + (text_bytes_ < kMuchText ? rules_.text_waits : base::Duration(0)));
    if (is_changed_) return std::max(first, drawn_at_ + rules_.between_draws);
    const auto age = drawn_at_ - rules_.began;
    return rules_.began + std::chrono::floor<std::chrono::seconds>(age) + kSecond;
}

bool LiveMixer::must_compose(base::Time now) const { return !is_paused_ && now >= next_draw(); }

bool LiveMixer::waits_for_view(base::Time now) const {
    return !is_paused_ && text_bytes_ > 0 && now < next_draw() && now >= rules_.began + rules_.begins_after;
}

void LiveMixer::compose(base::Time now) {
    if (!must_compose(now) || out_.size() > kMostQueued) return;
    const Stream* const typed = typed_at();
    // What the user has typed stands behind the prompt: only text may take its place.
    const bool keeps = typed && painter_.is_typed_at() && text_bytes_ == 0 && typed->changed == typed_change_;
    if (!keeps) painter_.draw(rows(now), typed != nullptr);
    typed_change_ = typed ? typed->changed : 0;
    drawn_at_ = now;
    is_changed_ = false;
    text_bytes_ = 0;
}

void LiveMixer::resize(WindowSize size) {
    if (size == size_) return;
    size_ = size;
    painter_.resize(size.columns);
    is_changed_ = true;
}

void LiveMixer::show_progress(const JobProgress& progress) {
    is_changed_ |= !(progress == progress_);
    progress_ = progress;
}

void LiveMixer::show_notice(std::string text) {
    is_changed_ |= text != notice_;
    notice_ = std::move(text);
}

void LiveMixer::suspend(base::Time now) {
    show_held(now);
    pause();
    is_suspended_ = true;
}

void LiveMixer::pause() {
    is_paused_ = true;
    is_suspended_ = false;
    painter_.erase();
}

void LiveMixer::resume() {
    is_paused_ = is_suspended_ = false;
    is_changed_ = true;
}

/// The stream with an unfinished line at whose end the user types: rather a prompt on stdout than a bar on stderr.
const LiveMixer::Stream* LiveMixer::typed_at() const {
    const Stream* latest = nullptr;
    const auto order = [](const Stream& stream) { return std::pair(-stream.what.stream, stream.changed); };
    for (const auto& stream : streams_)
        if (stream->what.reads_terminal && stream->rows.prompt() && (!latest || order(*stream) > order(*latest)))
            latest = stream.get();
    return latest;
}

/// Of each rank the lines of stdout or stderr, whichever has changed last. The one where the user types is the first.
std::vector<OpenLine> LiveMixer::open_lines() const {
    const Stream* const typed = typed_at();
    const auto is_shown_before = [typed](const Stream& a, const Stream& b) {
        return std::pair(&a == typed, a.changed) > std::pair(&b == typed, b.changed);
    };
    std::map<int, const Stream*> open;  // by local rank
    for (const auto& stream : streams_) {
        if (stream->rows.visible().empty()) continue;
        const auto [at, is_new] = open.try_emplace(stream->what.local_rank, stream.get());
        if (!is_new && is_shown_before(*stream, *at->second)) at->second = stream.get();
    }
    std::vector<OpenLine> lines;
    const auto add = [&](int local_rank, const LineModel& line) {
        lines.push_back({local_rank, line.text(size_.columns), line.width(size_.columns)});
    };
    const LineModel* const prompt = typed ? typed->rows.prompt() : nullptr;
    if (prompt) add(typed->what.local_rank, *prompt);
    for (const auto& [local_rank, stream] : open)
        for (const LineModel* line : stream->rows.visible())
            if (line != prompt) add(local_rank, *line);
    return lines;
}

std::vector<PaintedRow> LiveMixer::rows(base::Time now) const {
    const std::size_t columns = size_.columns - std::min<std::size_t>(size_.columns, 1);
    std::vector<PaintedRow> painted;
    const std::size_t most = std::min(kMostRows, size_.rows - std::min(size_.rows, kFewestTextRows));
    if (most > 0)
        for (const Row& row : make_rows(open_lines(), most)) {
            const std::string plain = rules_.prefix(row.local_ranks);
            const std::size_t lead = base::columns(plain);
            if (lead >= columns) continue;
            const LineModel cut = line_of(row.text);
            painted.push_back({painted_prefix(row.local_ranks) + cut.text(columns - lead),
                               lead + cut.width(columns - lead),
                               base::least_columns(plain) + cut.least_width(columns - lead)});
        }
    const auto elapsed = std::chrono::floor<std::chrono::seconds>(now - rules_.began);
    const std::string status =
        notice_.empty() ? progress_line(progress_, elapsed, longest_silence(now), columns) : notice_.substr(0, columns);
    painted.push_back(
        {rules_.colours ? "\x1b[2m" + status + "\x1b[0m" : status, status.size(), base::least_columns(status)});
    return painted;
}

/// Of ranks with an open stream. Ranks whose time differs by less than a second share it.
Silence LiveMixer::longest_silence(base::Time now) const {
    std::vector<std::pair<int, base::Time>> spoke;  // the later time of both streams
    for (const auto& stream : streams_) {
        if (stream->what.apart) continue;
        auto known = std::ranges::find(spoke, stream->what.local_rank, &std::pair<int, base::Time>::first);
        if (known == spoke.end()) known = spoke.insert(spoke.end(), {stream->what.local_rank, stream->what.since});
        known->second = std::max(known->second, stream->spoke);
    }
    if (spoke.empty()) return {};
    const base::Time oldest = std::ranges::min(spoke, {}, &std::pair<int, base::Time>::second).second;
    if (now - oldest < rules_.silence) return {};
    std::vector<int> ranks;
    for (const auto& [local_rank, time] : spoke)
        if (time < oldest + kSecond) ranks.push_back(local_rank);
    std::ranges::sort(ranks);
    return {rules_.ranks(ranks), std::chrono::floor<std::chrono::seconds>(now - oldest)};
}

}  // namespace dlaunch::agent
