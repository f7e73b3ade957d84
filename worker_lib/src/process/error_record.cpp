#include "worker_lib/src/process/error_record.hpp"

#include <fmt/format.h>

namespace dlaunch::worker {
namespace {

/// Length in bytes of the UTF-8 character at the start of `text`; 0: invalid.
std::size_t character(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const std::size_t size = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
    if (size == 0 || size > text.size()) return 0;
    for (std::size_t i = 1; i < size; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
    const bool impossible = (first == 0xED && byte(1) >= 0xA0) || (first == 0xF4 && byte(1) >= 0x90);
    return overlong || impossible ? 0 : size;
}

}  // namespace

std::string json_string(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t size = character(text);
        const char c = text.front();
        if (size == 0)
            out += "\\ufffd";
        else if (c == '"' || c == '\\')
            out += std::string("\\") + c;
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            out += fmt::format("\\u{:04x}", c);
        else
            out += text.substr(0, size);
        text.remove_prefix(std::max<std::size_t>(1, size));
    }
    return out + "\"";
}

std::string error_record(const std::string& message, const std::string& stack, std::int64_t seconds) {
    return fmt::format(R"({{"message": {{"message": {}, "extraInfo": {{"py_callstack": {}, "timestamp": "{}"}}}}}})",
                       json_string(message), json_string(stack), seconds) +
           "\n";
}

}  // namespace dlaunch::worker
