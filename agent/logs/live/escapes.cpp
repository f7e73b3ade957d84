#include "agent/logs/live/escapes.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "rendezvous/base/escape.hpp"

namespace dlaunch::agent {
namespace {

constexpr char kEscape = '\x1b', kBell = '\a';

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

/// The length of the characters at the front that need no look at each byte.
std::size_t simple_length(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size() && !is_control(bytes[at]) && static_cast<unsigned char>(bytes[at]) < 0x80) ++at;
    return at;
}

/// U+0080 to U+009F, and single bytes of that range: terminals take them for control characters.
bool is_high_control(std::string_view bytes, std::size_t length) {
    const auto first = static_cast<unsigned char>(bytes[0]);
    if (length == 0) return first >= 0x80 && first < 0xa0;
    return length == 2 && first == 0xc2 && static_cast<unsigned char>(bytes[1]) < 0xa0;
}

/// The bytes may be the first ones of a character of several bytes.
bool is_partial(std::string_view bytes) {
    const auto first = static_cast<unsigned char>(bytes[0]);
    if (first < 0xc2 || first > 0xf4) return false;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
    return bytes.size() < length && std::ranges::all_of(bytes.substr(1), continues);
}

std::size_t number_in(std::string_view text, std::size_t otherwise) {
    std::size_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    return parsed.ec == std::errc{} ? std::min<std::size_t>(number, 9999) : otherwise;
}

}  // namespace

bool is_simple(std::string_view bytes) {
    bool fine = true;
    for (const char c : bytes) {
        const auto code = static_cast<unsigned char>(c);
        fine &= (code >= 0x20 && code < 0x7f) || c == '\n' || c == '\t';
    }
    return fine;
}

bool EscapeParser::take_partial(Piece& piece) {
    if (partial_.empty()) return false;
    done_ = std::exchange(partial_, {});
    piece = {Kind::text, done_};
    return true;
}

/// The character began at the end of earlier bytes.
bool EscapeParser::end_character(std::string_view& bytes, Piece& piece) {
    while (is_partial(partial_)) {
        if (bytes.empty()) return false;
        if ((static_cast<unsigned char>(bytes.front()) & 0xc0) != 0x80) break;
        partial_ += bytes.front();
        bytes.remove_prefix(1);
    }
    return take_partial(piece);
}

bool EscapeParser::next(std::string_view& bytes, Piece& piece) {
    if (!partial_.empty() && end_character(bytes, piece)) return true;
    while (!bytes.empty()) {
        if (state_ != State::ground || is_control(bytes.front())) {
            const char c = bytes.front();
            bytes.remove_prefix(1);
            if (step(c, piece)) return true;
            continue;
        }
        std::size_t length = simple_length(bytes);
        while (length < bytes.size() && static_cast<unsigned char>(bytes[length]) >= 0x80) {
            const std::size_t character = base::utf8_length(bytes, length);
            if (is_high_control(bytes.substr(length), character)) break;
            if (character == 0 && is_partial(bytes.substr(length))) break;
            length += std::max<std::size_t>(character, 1);
            length += simple_length(bytes.substr(length));
        }
        if (length == 0 && is_partial(bytes)) {
            partial_ = std::exchange(bytes, {});
            return false;
        }
        if (length == 0) {  // a high control character
            bytes.remove_prefix(std::max<std::size_t>(base::utf8_length(bytes, 0), 1));
            continue;
        }
        piece = {Kind::text, bytes.substr(0, length)};
        bytes.remove_prefix(length);
        return true;
    }
    return false;
}

bool EscapeParser::control(char c, Piece& piece) const {
    if (c != '\r' && c != '\b') return false;
    piece = {c == '\r' ? Kind::carriage_return : Kind::backspace, {}};
    return true;
}

bool EscapeParser::step(char c, Piece& piece) {
    if (c == kEscape && state_ != State::string) {
        state_ = State::escape;
        return false;
    }
    switch (state_) {
        case State::ground: return control(c, piece);
        case State::escape:
            parameters_.clear();
            too_long_ = false;
            if (c == '[')
                state_ = State::sequence;
            else if (c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X')
                state_ = State::string;
            else
                state_ = c >= ' ' && c <= '/' ? State::intermediate : State::ground;
            return false;
        case State::intermediate:
            if (c < ' ' || c > '/') state_ = State::ground;
            return false;
        case State::sequence:
            if (is_control(c)) return control(c, piece);
            if (c >= '@' && c <= '~') return end_sequence(c, piece);
            if (parameters_.size() < kMostParameters)
                parameters_ += c;
            else
                too_long_ = true;
            return false;
        case State::string:
            if (c == kBell) state_ = State::ground;
            if (c == kEscape) state_ = State::string_escape;
            return false;
        case State::string_escape: state_ = c == '\\' ? State::ground : State::string; return false;
    }
    return false;
}

bool EscapeParser::end_sequence(char last, Piece& piece) {
    state_ = State::ground;
    done_ = std::exchange(parameters_, {});
    if (done_ == "?25" && (last == 'l' || last == 'h')) {
        piece = {last == 'l' ? Kind::hide_cursor : Kind::show_cursor, {}};
        return true;
    }
    if (too_long_ || (!done_.empty() && done_.find_first_not_of("0123456789;:") != std::string::npos)) return false;
    switch (last) {
        case 'm': piece = {Kind::colour, done_}; return true;
        case 'K': {
            constexpr std::string_view kAmounts = "012";
            const std::size_t amount = number_in(done_, 0);
            if (amount >= kAmounts.size()) return false;
            constexpr Kind kKinds[] = {Kind::erase_right, Kind::erase_left, Kind::erase_all};
            piece = {kKinds[amount], {}};
            return true;
        }
        case 'G': piece = {Kind::column, {}, std::max<std::size_t>(number_in(done_, 1), 1) - 1}; return true;
        case 'C': piece = {Kind::right, {}, std::max<std::size_t>(number_in(done_, 1), 1)}; return true;
        case 'D': piece = {Kind::left, {}, std::max<std::size_t>(number_in(done_, 1), 1)}; return true;
        case 'A': piece = {Kind::up, {}, std::max<std::size_t>(number_in(done_, 1), 1)}; return true;
        case 'B': piece = {Kind::down, {}, std::max<std::size_t>(number_in(done_, 1), 1)}; return true;
        case 'E': piece = {Kind::down_to_start, {}, std::max<std::size_t>(number_in(done_, 1), 1)}; return true;
        case 'F': piece = {Kind::up_to_start, {}, std::max<std::size_t>(number_in(done_, 1), 1)}; return true;
        case 'J':
            if (number_in(done_, 0) != 0) return false;
            piece = {Kind::erase_below, {}};
            return true;
        default: return false;
    }
}

}  // namespace dlaunch::agent
