#include "agent/status/event_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/status/open_error.hpp"
#include "rendezvous/base/escape.hpp"

namespace dlaunch::agent {

base::Result<EventFile> EventFile::open(const std::string& path) {
    EventFile log;
    // O_NONBLOCK: a FIFO without a reader must not block the open. O_RDWR would open the FIFO, but hide the missing
    // reader.
    log.file_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
    if (log.file_) return log;
    const int why = errno;
    return base::Error{fmt::format("event log {}: {}", base::printable(path), open_error(path, why))};
}

void EventFile::write(std::string_view line) {
    if (!file_) return;
    std::string text(torn_ ? "\n" : "");
    text += line;
    ssize_t written = 0;
    do written = ::write(file_.get(), text.data(), text.size());
    while (written < 0 && errno == EINTR);
    const bool whole = written == static_cast<ssize_t>(text.size());
    torn_ = written > 0 ? !whole : torn_;
    if (!whole) warn(written < 0 ? std::strerror(errno) : "a line was cut short");
}

void EventFile::add_lost(std::uint64_t lines) { warn(fmt::format("{} lines were too many to keep in memory", lines)); }

void EventFile::warn(std::string why) {
    if (!std::exchange(has_warned_, true)) warning_ = fmt::format("event log: {}; some events are lost", why);
}

std::string EventFile::take_warning() { return std::exchange(warning_, {}); }

}  // namespace dlaunch::agent
