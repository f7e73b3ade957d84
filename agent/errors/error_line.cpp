#include "agent/errors/error_line.hpp"

#include <fmt/format.h>

#include <string_view>

#include "agent/errors/format.hpp"
#include "rendezvous/base/escape.hpp"

namespace dlaunch::agent {

namespace {

constexpr std::size_t kMostColumns = 94;

/// "std::runtime_error: text" in place of the two lines that the C++ library prints of an uncaught exception.
std::string uncaught_exception(std::string_view message) {
    constexpr std::string_view kBegin = "terminate called after throwing an instance of '", kWhat = "\n  what():  ";
    const std::size_t quote = message.find('\'', kBegin.size()), what = message.find(kWhat);
    if (!message.starts_with(kBegin) || what == std::string_view::npos || quote > what) return std::string(message);
    const std::string_view type = message.substr(kBegin.size(), quote - kBegin.size());
    return fmt::format("{}: {}", type, message.substr(what + kWhat.size()));
}

}  // namespace

std::string error_text(const Failure& failure) {
    const std::string message = uncaught_exception(failure.record ? failure.record->message : failure.message);
    std::string_view line = std::string_view(message).substr(0, message.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return base::printable(line);
}

std::string error_line(const Failure& failure) { return shorten_middle(error_text(failure), kMostColumns); }

}  // namespace dlaunch::agent
