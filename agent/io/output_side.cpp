#include "agent/io/output_side.hpp"

#include <fmt/format.h>

#include "agent/errors/error_file.hpp"
#include "agent/errors/escape.hpp"
#include "agent/status/write_reports.hpp"

namespace dlaunch::agent {

base::Result<void> Output::Side::prepare(const std::function<base::Result<void>()>& also) {
    if (auto done = also(); !done) return done;
    if (!plan.event_log.empty()) {
        doing = "the event log";
        auto opened = EventFile::open(plan.event_log);
        if (!opened) return opened.error();
        events = std::move(*opened);
    }
    doing = log_name();
    if (auto made = logs.prepare(); !made) return made;
    // Warnings arise inside a write: print them from the loop, after that write.
    logs.on_warning([this] { loop.post([this] { print_warnings(); }); });
    print_warnings();
    return {};
}

void Output::Side::print(const std::string& text) { logs.print("dlaunch: " + printable(text) + "\n"); }

void Output::Side::print_warnings() {
    for (const auto& warning : logs.take_warnings()) print(warning);
    if (auto warning = events.take_warning(); !warning.empty()) print(warning);
}

Evidence Output::Side::evidence(const LogSource& source) const {
    return {logs.stderr_tail(source.local_rank), read_error_file(logs.paths().error_file(source))};
}

/// Prints first and writes files afterwards: a file system that does not answer must not hold back the report.
void Output::Side::finish(const Ending* ending, std::function<void(const std::string&)> done) {
    if (ending) {
        logs.print(ending->text);
        for (const std::string& line : ending->lines) print(line);
        report_is_shown = true;
        doing = "the report";
        for (const auto& warning : write_reports(plan, ending->report)) print(warning);
        doing = log_name();
    }
    print_warnings();
    if (const std::uint64_t lost = lost_lines) print(fmt::format("{} messages of dlaunch were lost", lost));
    logs.finish(patience, [this, done = std::move(done)](const Logs::Dropped& dropped) {
        // A loss on stderr cannot be reported: the message would wait for the same stalled reader.
        if (dropped.out && !dropped.err)
            print(
                fmt::format("{} bytes of output were lost: the reader of standard output does not read", dropped.out));
        done("");
    });
}

}  // namespace dlaunch::agent
