#pragma once
/// The event log: one JSON object per line for every state change, with wall-clock and monotonic time.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace dlaunch::agent {

/// Formats events with the time of the call and passes the lines to a sink, usually the I/O thread's EventFile.
/// Lines look like {"event":"worker_ended","time":"2026-11-21T08:20:46.123Z","monotonic":12.345678,"job":"...",
/// "round":0,"rank":3,...}; the keys after "job" are the event's own, in the order given.
class EventLog {
public:
    using Value = std::variant<std::string_view, std::int64_t, double, bool>;
    struct Field {
        std::string_view name;
        Value value;
    };
    using Sink = std::function<void(std::string line)>;

    EventLog() = default;  ///< formats nothing
    EventLog(std::string_view job_id, Sink sink);

    /// `more` follows `fields`.
    void write(std::string_view event, std::initializer_list<Field> fields, std::initializer_list<Field> more = {});
    /// The last event of a job. `reason`: of an end without a failed worker, else empty.
    void write_job_ended(int status, double seconds, std::string_view reason);

private:
    std::string job_id_;  ///< as JSON
    Sink sink_;
};

}  // namespace dlaunch::agent
