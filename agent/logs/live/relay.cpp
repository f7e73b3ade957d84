#include "agent/logs/live/relay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace dlaunch::agent {
namespace {

constexpr std::size_t kMostHead = 100, kMostText = 1 << 20;

/// Of the numbers behind the letter; the last one is a length where `has_bytes`.
struct Form {
    char kind;
    std::size_t numbers;
    bool has_bytes;
};
constexpr std::array<Form, 5> kForms{
    {{'A', 5, true}, {'F', 2, true}, {'E', 1, false}, {'P', 1, true}, {'J', 6, false}}};

}  // namespace

struct RelayMixer::Stream : Source {
    int id = 0;
};

RelayMixer::RelayMixer(ByteQueue& out) : out_(out) {}
RelayMixer::~RelayMixer() = default;

Mixer::Source* RelayMixer::add(LineSource source) {
    streams_.push_back(std::make_unique<Stream>());
    streams_.back()->id = ++last_id_;
    out_.append(fmt::format("A {} {} {} {} {}\n", last_id_, source.rank, source.stream, source.apart ? 1 : 0,
                            source.prefix.size()));
    out_.append(source.prefix);
    return streams_.back().get();
}

void RelayMixer::feed(Source* source, std::string_view bytes, base::Time /*now*/) {
    if (bytes.empty()) return;
    out_.append(fmt::format("F {} {}\n", static_cast<Stream*>(source)->id, bytes.size()));
    out_.append(bytes);
}

void RelayMixer::end(Source* source, base::Time /*now*/) {
    out_.append(fmt::format("E {}\n", static_cast<Stream*>(source)->id));
    std::erase_if(streams_, [&](const auto& each) { return each.get() == source; });
}

void RelayMixer::print(std::string_view text, base::Time /*now*/) {
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), kMostText))) {
        const std::string_view part = text.substr(0, kMostText);
        out_.append(fmt::format("P {}\n", part.size()));
        out_.append(part);
    }
}

void RelayMixer::show_progress(const JobProgress& job) {
    out_.append(fmt::format("J {} {} {} {} {} {}\n", job.workers, job.alive, job.restarts, job.max_restarts, job.nodes,
                            job.wanted_nodes));
}

/// Reads the line in head_.
bool RelayReader::begin_record() {
    const auto form = std::ranges::find(kForms, head_.empty() ? '\0' : head_[0], &Form::kind);
    if (form == kForms.end()) return false;
    const char *at = head_.data() + 1, *const end = head_.data() + head_.size();
    for (std::size_t index = 0; index < form->numbers; ++index) {
        if (at == end || *at != ' ') return false;
        const auto parsed = std::from_chars(at + 1, end, numbers_[index]);
        if (parsed.ec != std::errc{}) return false;
        at = parsed.ptr;
    }
    const int length = form->has_bytes ? numbers_[form->numbers - 1] : 0;
    if (at != end || length < 0 || (form->kind != 'F' && static_cast<std::size_t>(length) > kMostText)) return false;
    kind_ = form->kind;
    left_ = static_cast<std::size_t>(length);
    head_.clear();
    return true;
}

void RelayReader::end_record(Handler& handler) {
    switch (std::exchange(kind_, '\0')) {
        case 'A':
            handler.on_add(numbers_[0], {.local_rank = numbers_[1],
                                         .stream = numbers_[2] == 1 ? 1 : 0,
                                         .prefix = std::exchange(bytes_, {}),
                                         .apart = numbers_[3] != 0,
                                         .rank = numbers_[1]});
            break;
        case 'E': handler.on_end(numbers_[0]); break;
        case 'P': handler.on_text(std::exchange(bytes_, {})); break;
        case 'J':
            handler.on_progress({.workers = numbers_[0],
                                 .alive = numbers_[1],
                                 .restarts = numbers_[2],
                                 .max_restarts = numbers_[3],
                                 .nodes = numbers_[4],
                                 .wanted_nodes = numbers_[5]});
            break;
        default: break;
    }
}

void RelayReader::feed(std::string_view bytes, Handler& handler) {
    while (!bytes.empty() && !is_broken_) {
        if (kind_ == 0) {
            const std::size_t end = std::min(bytes.find('\n'), bytes.size());
            head_ += bytes.substr(0, std::min(end, kMostHead));
            const bool is_whole = end < bytes.size();
            bytes.remove_prefix(std::min(end + 1, bytes.size()));
            is_broken_ = head_.size() > kMostHead || (is_whole && !begin_record());
            if (is_broken_ || !is_whole) continue;
        }
        const std::string_view part = bytes.substr(0, left_);
        if (kind_ == 'F' && !part.empty()) handler.on_bytes(numbers_[0], part);
        if (kind_ != 'F') bytes_ += part;
        bytes.remove_prefix(part.size());
        left_ -= part.size();
        if (left_ == 0) end_record(handler);
    }
}

}  // namespace dlaunch::agent
