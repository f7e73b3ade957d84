#include "rendezvous/base/escape.hpp"

#include <fmt/format.h>

#include <iterator>

namespace dlaunch::base {

namespace {

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

void append_hex(std::string& out, unsigned byte) { fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte); }

/// U+0080..U+009F: terminals interpret them like ESC sequences.
bool is_c1_control(std::string_view sequence) {
    return sequence.size() == 2 && byte_at(sequence, 0) == 0xC2 && byte_at(sequence, 1) < 0xA0;
}

/// U+202A..U+202E and U+2066..U+2069: what follows would be shown in another order.
bool turns_direction(std::string_view sequence) {
    if (sequence.size() != 3 || byte_at(sequence, 0) != 0xE2) return false;
    const unsigned second = byte_at(sequence, 1), third = byte_at(sequence, 2);
    return (second == 0x80 && third >= 0xAA && third <= 0xAE) || (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

/// Calls `good` for every well-formed sequence and `bad` for every other byte.
template <class Good, class Bad>
void walk(std::string_view text, Good good, Bad bad) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) {
            bad(byte_at(text, at++));
        } else {
            good(text.substr(at, length));
            at += length;
        }
    }
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
    const unsigned first = byte_at(text, at);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() - at < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte_at(text, at + i) & 0xC0) != 0x80) return 0;
    // The second byte reveals overlong forms, surrogates and values beyond U+10FFFF.
    const unsigned second = byte_at(text, at + 1);
    const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                       (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
    return wrong ? 0 : length;
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    auto bad = [&](unsigned byte) { append_hex(out, byte); };
    walk(
        text,
        [&](std::string_view sequence) {
            const unsigned first = byte_at(sequence, 0);
            const bool control = (first < 0x20 && first != '\t') || first == 0x7F || is_c1_control(sequence) ||
                                 turns_direction(sequence);
            if (!control) {
                out += sequence;
            } else {
                for (std::size_t i = 0; i < sequence.size(); ++i) bad(byte_at(sequence, i));
            }
        },
        bad);
    return out;
}

std::string valid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    walk(
        text, [&](std::string_view sequence) { out += sequence; }, [&](unsigned byte) { append_hex(out, byte); });
    return out;
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    out.reserve(text.size() + 2);
    auto good = [&](std::string_view sequence) {
        switch (const unsigned first = byte_at(sequence, 0)) {
            case '"': out += "\\\""; break;
            case '\\': out += "\\\\"; break;
            case '\n': out += "\\n"; break;
            case '\t': out += "\\t"; break;
            case '\r': out += "\\r"; break;
            default:
                if (first < 0x20 || first == 0x7F)
                    fmt::format_to(std::back_inserter(out), "\\u{:04x}", first);
                else
                    out += sequence;
        }
    };
    walk(text, good, [&](unsigned byte) {
        out += '\\';
        append_hex(out, byte);
    });
    out += '"';
    return out;
}

}  // namespace dlaunch::base
