#include "agent/errors/error_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "agent/errors/report.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/files.hpp"

namespace dlaunch::agent {

namespace {

using nlohmann::ordered_json;

/// Far deeper than real files, and shallow enough for recursion.
constexpr int kMaxDepth = 64;

/// The value of the digits of "\uXXXX" at `at`, or -1.
int hex_escape(std::string_view text, std::size_t at) {
    if (text.size() - at < 6 || text[at] != '\\' || text[at + 1] != 'u') return -1;
    int value = 0;
    const char* end = text.data() + at + 6;
    return std::from_chars(text.data() + at + 2, end, value, 16).ptr == end ? value : -1;
}

/// Python writes undecodable bytes of a file name as lone surrogates (\udcff). Strict parsers refuse them, which would
/// lose the whole record, so this replaces them by the text \xff.
void append_surrogate(std::string& out, int value) {
    if (value >= 0xDC80 && value <= 0xDCFF) {
        out += '\\';
        out += base::printable(std::string(1, static_cast<char>(value - 0xDC00)));
    } else {
        out += "\\ufffd";
    }
}

/// Replaces lone surrogates; none if brackets nest too deep.
std::optional<std::string> tamed(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    int depth = 0;
    bool in_string = false;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        std::size_t length = 1;
        if (c == '"') in_string = !in_string;
        if (!in_string && (c == '[' || c == '{') && ++depth > kMaxDepth) return std::nullopt;
        if (!in_string && (c == ']' || c == '}')) --depth;
        if (in_string && c == '\\') {
            const int value = hex_escape(text, at);
            const bool pair = value >= 0xD800 && value < 0xDC00 && at + 12 <= text.size() &&
                              (hex_escape(text, at + 6) & ~0x3FF) == 0xDC00;
            if (value >= 0xD800 && value < 0xE000 && !pair) {
                append_surrogate(out, value);
                at += 6;
                continue;
            }
            length = pair ? 12 : value >= 0 ? 6 : 2;
        }
        out += text.substr(at, length);
        at += std::min(length, text.size() - at);
    }
    return out;
}

ordered_json parse(std::string_view text) {
    const auto tame = tamed(text);
    return tame ? ordered_json::parse(*tame, nullptr, false) : ordered_json(ordered_json::value_t::discarded);
}

/// The string at object[key]; empty for anything else.
std::string text_at(const ordered_json& object, const char* key) {
    if (!object.is_object()) return {};
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

const ordered_json& member(const ordered_json& object, const char* key) {
    static const ordered_json none;
    if (!object.is_object()) return none;
    const auto found = object.find(key);
    return found == object.end() ? none : *found;
}

/// The last line that is not blank: the exception of a Python traceback.
std::string last_line(std::string_view text) {
    const std::size_t end = text.find_last_not_of(" \t\r\n");
    if (end == std::string_view::npos) return {};
    text = text.substr(0, end + 1);
    const std::size_t start = text.rfind('\n');
    return std::string(start == std::string_view::npos ? text : text.substr(start + 1));
}

int torch_code(const Failure& cause) { return cause.how == ExitKind::signalled ? -cause.signal : cause.exit_status(); }

/// A record in torch's form for a worker that wrote none.
ordered_json made_record(const Failure& cause) {
    std::string words;
    for (const std::string& line : cause.stderr_tail) words += base::valid_utf8(line) + "\n";
    const auto when = std::chrono::duration_cast<std::chrono::seconds>(cause.when.time_since_epoch()).count();
    ordered_json record;
    record["message"]["message"] = base::valid_utf8(summary(cause));
    record["message"]["extraInfo"] = {{"py_callstack", words}, {"timestamp", std::to_string(when)}};
    return record;
}

}  // namespace

std::optional<ErrorRecord> parse_error_file(std::string_view text) {
    const ordered_json document = parse(text);
    if (!document.is_object()) return std::nullopt;
    ErrorRecord record{.message = text_at(document, "message"), .callstack = {}, .raw = std::string(text)};
    if (const ordered_json& message = member(document, "message"); message.is_object()) {
        record.message = text_at(message, "message");
        record.callstack = text_at(member(message, "extraInfo"), "py_callstack");
        if (record.message.empty()) record.message = last_line(record.callstack);
    }
    if (record.message.empty()) return std::nullopt;
    return record;
}

std::optional<ErrorRecord> read_error_file(const std::string& path) {
    struct stat about {};
    if (path.empty() || ::stat(path.c_str(), &about) != 0 || about.st_size == 0) return std::nullopt;
    const std::string text = base::text_of(path);
    if (text.empty())
        return ErrorRecord{.message = fmt::format("(the error file of {} bytes cannot be read)", about.st_size),
                           .callstack = {},
                           .raw = {}};
    if (auto record = parse_error_file(text)) return record;
    constexpr std::size_t kShown = 200;
    return ErrorRecord{
        .message = fmt::format("(the error file is not a record: {}{})", base::printable(text.substr(0, kShown)),
                               text.size() > kShown ? " ..." : ""),
        .callstack = {},
        .raw = text};
}

std::string agent_error_file(const Failure& cause) {
    ordered_json document = cause.record ? parse(cause.record->raw) : ordered_json();
    if (!document.is_object()) document = made_record(cause);
    if (document["message"].is_object()) document["message"]["errorCode"] = torch_code(cause);
    return document.dump(-1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace dlaunch::agent
