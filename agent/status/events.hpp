#pragma once
/// The event log: one JSON object per line for every state change, with wall and monotonic time.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// Appends events to a file. A full disk never stops the job: it is told once through `complaint`, then lines are lost.
/// Lines look like {"event":"worker_ended","time":"2026-11-21T08:20:46.123Z","monotonic":12.345678,"job":"...",
/// "round":0,"rank":3,...}; the keys after "job" are the event's own, in the order given.
class EventLog {
public:
    using Value = std::variant<std::string_view, std::int64_t, double, bool>;
    struct Field {
        std::string_view name;
        Value value;
    };

    EventLog() = default;  ///< writes nothing

    /// Creates or appends to `path`; a pipe or terminal is fine too.
    [[nodiscard]] static base::Result<EventLog> open(const std::string& path, std::string job_id);

    void write(std::string_view event, std::initializer_list<Field> fields);

    /// Why lines were lost, once; empty otherwise.
    [[nodiscard]] std::string take_complaint();

private:
    base::UniqueFd file_;
    std::string job_id_;
    std::string complaint_;
    bool complained_ = false;
    bool torn_ = false;  ///< the last line was cut short: the next one begins on a line of its own
};

}  // namespace dlaunch::agent
