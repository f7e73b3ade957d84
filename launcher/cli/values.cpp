#include "launcher/cli/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "launcher/cli/split.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;

constexpr int kMostNodes = 1'000'000;
constexpr int kHighestRank = 9'999'999;
constexpr std::size_t kMostRanks = 1'000'000;  // in one list: bounds the memory of "0-9999999"
constexpr double kMostSeconds = 1e9;           // 31 years
constexpr int kMostRotated = 10'000;

/// Splits at the first `at`; without one, the second half is none.
std::pair<std::string_view, std::optional<std::string_view>> cut(std::string_view text, char at) {
    std::size_t place = text.find(at);
    if (place == std::string_view::npos) return {text, std::nullopt};
    return {text.substr(0, place), text.substr(place + 1)};
}

std::optional<unsigned> stream_bits(std::string_view text) {
    if (text.size() != 1 || text[0] < '0' || text[0] > '3') return std::nullopt;
    return static_cast<unsigned>(text[0] - '0');
}

/// A rank: digits only.
std::optional<int> rank_number(std::string_view text) {
    auto number = whole_number(text, 0, kHighestRank);
    if (!number) return std::nullopt;
    return static_cast<int>(*number);
}

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t least, std::int64_t most) {
    text = trimmed(text);
    std::int64_t number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
        return std::nullopt;
    return number;
}

Parsed<int> parse_count(std::string_view text, std::string_view what) {
    constexpr int kMost = std::numeric_limits<int>::max();
    auto number = whole_number(text, 0, kMost);
    if (!number) return Error{fmt::format("expected {} from 0 to {}", what, kMost)};
    return static_cast<int>(*number);
}

Parsed<NodeRange> parse_nnodes(std::string_view text) {
    Error wrong{"expected a number of nodes from 1, or MIN:MAX"};
    auto [left, right] = cut(text, ':');
    auto min = whole_number(left, 1, kMostNodes);
    auto max = right ? whole_number(*right, 1, kMostNodes) : min;
    if (!min || !max || *min > *max) return wrong;
    return NodeRange{static_cast<int>(*min), static_cast<int>(*max)};
}

Parsed<WorkerCount> parse_nproc(std::string_view text) {
    using Kind = WorkerCount::Kind;
    std::string_view word = trimmed(text);
    constexpr std::pair<std::string_view, Kind> kWords[] = {{"auto", Kind::automatic}, {"cpu", Kind::cpu},
                                                            {"gpu", Kind::gpu},        {"xpu", Kind::xpu},
                                                            {"hpu", Kind::hpu},        {"npu", Kind::npu}};
    for (const auto& [known, kind] : kWords)
        if (word == known) return WorkerCount{kind, 0};
    for (std::string_view device : {"mtia", "mlu", "musa", "mps", "tpu"})
        if (word == device)
            return Error{fmt::format(
                "expected a number, cpu, gpu, xpu, hpu, npu or auto: {}s cannot be counted here; give their number",
                device)};
    auto number = whole_number(word, 1, std::numeric_limits<std::int64_t>::max());
    if (!number) return Error{"expected a number of workers from 1, cpu, gpu, xpu, hpu, npu or auto"};
    return WorkerCount{Kind::number, *number};
}

Parsed<WorkerCount> parse_total(std::string_view text) {
    auto number = whole_number(text, 1, std::numeric_limits<std::int64_t>::max());
    if (!number) return Error{"expected a number of workers from 1"};
    return WorkerCount{WorkerCount::Kind::total, *number};
}

Parsed<bool> parse_switch(std::string_view text) {
    std::string word;
    for (char c : trimmed(text)) word += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    for (const char* yes : {"1", "true", "yes", "on"})
        if (word == yes) return true;
    for (const char* no : {"0", "false", "no", "off"})
        if (word == no) return false;
    return Error{"expected 1 or 0"};
}

struct Unit {
    std::string_view name;
    double seconds;
};
constexpr Unit kUnits[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};

Parsed<std::chrono::milliseconds> parse_seconds(std::string_view text) {
    Error wrong{
        fmt::format("expected a number of seconds from 0 to {:.0f}, like 30 or 0.5, or 500ms, 10m, 2h", kMostSeconds)};
    const std::string word(trimmed(text));
    const std::size_t digits = std::min(word.find_first_not_of("0123456789."), word.size());
    const auto unit = std::ranges::find(kUnits, std::string_view(word).substr(digits), &Unit::name);
    if (digits == 0 || unit == std::end(kUnits)) return wrong;
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);  // std::from_chars needs libm, which takes time to load
    const double seconds = number * unit->seconds;
    if (end != word.c_str() + digits || seconds > kMostSeconds) return wrong;
    const auto rounded = std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
    return std::max(rounded, std::chrono::milliseconds(seconds > 0 ? 1 : 0));
}

Parsed<std::chrono::milliseconds> parse_seconds_above_zero(std::string_view text) {
    auto seconds = parse_seconds(text);
    if (!seconds || seconds->count() == 0) return Error{"expected a number of seconds above 0"};
    return seconds;
}

Parsed<Backoff> parse_backoff(std::string_view text, std::chrono::milliseconds usual_most) {
    Error wrong{"expected seconds as FIRST or FIRST:MAX, FIRST not above MAX"};
    auto [left, right] = cut(text, ':');
    auto first = parse_seconds(left);
    if (!first) return wrong;
    Backoff backoff{*first, std::max(*first, usual_most)};
    if (right) {
        auto most = parse_seconds(*right);
        if (!most || *most < *first) return wrong;
        backoff.most = *most;
    }
    return backoff;
}

Parsed<int> parse_port(std::string_view text, int least) {
    auto number = whole_number(text, least, 65535);
    if (!number) return Error{fmt::format("expected a port from {} to 65535", least)};
    return static_cast<int>(*number);
}

Parsed<Rotation> parse_rotation(std::string_view text) {
    Error wrong{"expected a size like 500K, 1M or 2G, optionally with :KEEP, the number of old files"};
    auto [size, keep] = cut(text, ':');
    size = trimmed(size);
    if (size.empty()) return wrong;
    int shift = 0;
    switch (size.back()) {
        case 'k':
        case 'K': shift = 10; break;
        case 'm':
        case 'M': shift = 20; break;
        case 'g':
        case 'G': shift = 30; break;
        default: break;
    }
    if (shift) size.remove_suffix(1);
    auto number = whole_number(size, 1, std::numeric_limits<std::int64_t>::max() >> shift);
    auto kept = keep ? whole_number(*keep, 0, kMostRotated) : Rotation{}.keep;
    if (!number || !kept) return wrong;
    return Rotation{static_cast<std::uint64_t>(*number) << shift, static_cast<int>(*kept)};
}

Parsed<int> parse_keep_runs(std::string_view text) {
    constexpr int kMost = std::numeric_limits<int>::max();
    if (trimmed(text) == "all") return kMost;
    auto number = whole_number(text, 1, kMost);
    if (!number) return Error{"expected a number of runs from 1, or all"};
    return static_cast<int>(*number);
}

Parsed<agent::StreamChoice> parse_streams(std::string_view text) {
    Error wrong{"expected 0, 1, 2 or 3 (none, stdout, stderr, both), or RANK:N pairs like 0:3,1:2"};
    agent::StreamChoice choice;
    if (auto all = stream_bits(text)) {
        choice.others = *all;
        return choice;
    }
    for (std::string_view pair : split(text, ',')) {
        auto [left, right] = cut(pair, ':');
        auto rank = rank_number(left);
        auto bits = right ? stream_bits(*right) : std::nullopt;
        if (!rank || !bits || left.find_first_not_of("0123456789") != std::string_view::npos) return wrong;
        choice.by_rank[*rank] = *bits;
    }
    return choice;
}

Parsed<std::optional<std::set<int>>> parse_ranks(std::string_view text) {
    Error wrong{"expected ranks like 0, 0,2-4 or all"};
    if (trimmed(text) == "all") return std::optional<std::set<int>>();
    std::set<int> ranks;
    for (std::string_view part : split(text, ',')) {
        auto [left, right] = cut(part, '-');
        auto first = rank_number(left), last = right ? rank_number(*right) : first;
        if (!first || !last || *first > *last) return wrong;
        if (ranks.size() + static_cast<std::size_t>(*last - *first) >= kMostRanks) return wrong;
        for (int rank = *first; rank <= *last; ++rank) ranks.insert(rank);
    }
    return std::optional(std::move(ranks));
}

Parsed<agent::StdinPlan> parse_stdin(std::string_view text) {
    using Mode = agent::StdinPlan::Mode;
    std::string_view word = trimmed(text);
    if (word == "none") return agent::StdinPlan{Mode::none, 0};
    if (word == "all") return agent::StdinPlan{Mode::all, 0};
    auto rank = rank_number(word);
    if (!rank) return Error{"expected none, all or a rank"};
    return agent::StdinPlan{Mode::rank, *rank};
}

Parsed<agent::Wrap> parse_wrap(std::string_view text) {
    auto [left, right] = cut(text, ':');
    if (!right) return Error{"expected RANKS:COMMAND, for example 0:gdb --args"};
    auto ranks = parse_ranks(left);
    if (!ranks) return Error{ranks.error().text + " before the colon"};
    auto words = shell_words(*right);
    if (!words) return words.error();
    if (words->empty()) return Error{"expected a command after the colon"};
    return agent::Wrap{std::move(*ranks), std::move(*words)};
}

Parsed<std::string> parse_choice(std::string_view text, const std::vector<std::string_view>& choices) {
    if (std::ranges::find(choices, trimmed(text)) != choices.end())
        return base::text_result(std::string(trimmed(text)));
    return Error{fmt::format("expected {} or {}", fmt::join(choices.begin(), choices.end() - 1, ", "), choices.back())};
}

Parsed<agent::Binding> parse_binding(std::string_view text) {
    using agent::Binding;
    static constexpr std::pair<std::string_view, Binding> kNames[] = {
        {"none", Binding::none},     {"cores", Binding::cores},         {"numa", Binding::numa},
        {"socket", Binding::socket}, {"exclusive", Binding::exclusive}, {"core-complex", Binding::core_complex},
        {"node", Binding::numa}};
    auto found = std::ranges::find(kNames, trimmed(text), &std::pair<std::string_view, Binding>::first);
    if (found == std::end(kNames))
        return Error{"expected none, cores, numa (or node), socket, exclusive or core-complex"};
    return found->second;
}

Parsed<std::pair<std::string, std::string>> parse_assignment(std::string_view text) {
    auto [name, value] = cut(text, '=');
    if (name.empty() || !value) return Error{"expected NAME=VALUE"};
    return std::pair(std::string(name), std::string(*value));
}

Parsed<std::vector<std::string>> parse_filters(std::string_view text) { return comma_list(text); }

Parsed<std::string> parse_any(std::string_view text) { return base::text_result(std::string(text)); }

Parsed<std::string> parse_text(std::string_view text, std::string_view what) {
    if (text.empty()) return Error{fmt::format("expected {}", what)};
    return base::text_result(std::string(text));
}

}  // namespace dlaunch::launcher
