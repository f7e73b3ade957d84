#include "agent/io/output_side.hpp"

#include <fmt/format.h>

#include <utility>

#include "agent/errors/error_file.hpp"
#include "agent/errors/error_message.hpp"
#include "agent/status/write_reports.hpp"
#include "rendezvous/base/escape.hpp"

namespace dlaunch::agent {

std::string Output::Side::object() const {
    switch (doing) {
        case Doing::output: return "the output";
        case Doing::log_files: return "the log files";
        case Doing::event_log: return "the event log";
        case Doing::report: return "the report";
        case Doing::timer_file: return "the timer file";
        case Doing::temporary_files:
        case Doing::removal: return "the temporary files in " + base::printable(plan.temporary_folder);
    }
    return {};
}

std::string Output::Side::failure() const {
    const bool is_made = doing == Doing::timer_file || doing == Doing::temporary_files;
    const char* const verb = doing == Doing::removal ? "removed" : is_made ? "made" : "written";
    return fmt::format("{} could not be {}", object(), verb);
}

base::Result<void> Output::Side::prepare(OtherFiles files) {
    other = std::move(files);
    doing = Doing::timer_file;
    if (auto made = other.make(); !made) return made;
    if (!plan.event_log.empty() && plan.event_log != Plan::kStandardOutput) {
        doing = Doing::event_log;
        auto opened = EventFile::open(plan.event_log);
        if (!opened) return opened.error();
        events = std::move(*opened);
    }
    doing = plan.logs.keeps_files() ? Doing::log_files : Doing::temporary_files;
    if (auto made = logs.prepare(); !made) return made;
    doing = Doing::temporary_files;
    other.make_in(logs.paths());
    doing = logging();
    // Warnings arise inside a write: print them from the loop, after that write.
    logs.on_warning([this] { loop.post([this] { print_warnings(); }); });
    print_warnings();
    return {};
}

void Output::Side::print(const std::string& text) { logs.print("dlaunch: " + base::printable(text) + "\n"); }

void Output::Side::print_warnings() {
    for (const auto& warning : logs.take_warnings()) print(plan.with_host(warning));
    if (auto warning = events.take_warning(); !warning.empty()) print(plan.with_host(warning));
}

/// Where the error's first line is not found, for it is cut or wrapped, the last line counts.
std::optional<ShownError> Output::Side::error(int local_rank, const std::vector<std::string>& stderr_tail) const {
    const StatedError error = stated_error(stderr_tail);
    if (error.text.empty()) return std::nullopt;
    const auto shown = logs.shown_on_stderr(local_rank, std::string_view(error.text).substr(0, error.text.find('\n')));
    return ShownError{shown.value_or(Tail::Shown{.at = logs.last_line(local_rank).at()}), error.may_be_survived};
}

Evidence Output::Side::evidence(const LogSource& source) const {
    constexpr int kAll = 1000;                            // lines; the tail's bytes are bounded
    constexpr std::size_t kWhole = 2 * Tail::kKeptBytes;  // a line of JSON may hold a traceback
    const std::vector<std::string> tail = logs.stderr_tail(source.local_rank, kAll, kWhole);
    const std::string on_stderr = error_message(tail);
    const std::string on_stdout =
        on_stderr.empty() ? error_on_stdout(logs.stdout_tail(source.local_rank, kAll, kWhole)) : std::string();
    return {logs.stderr_tail(source.local_rank),
            on_stderr.empty() ? on_stdout : on_stderr,
            !on_stdout.empty(),
            read_error_file(logs.paths().error_file(source)),
            logs.last_line(source.local_rank),
            error(source.local_rank, tail),
            on_stdout.empty() && logs.has_just_shown_stderr(source.local_rank)};
}

/// Prints first, writes files afterwards, and removes files last: an unresponsive file system must not hold back the
/// report.
void Output::Side::finish(const FinalOutput* final_output, std::function<void(const std::string&)> done) {
    logs.pause_view();
    if (final_output) {
        logs.print(final_output->text);
        for (const std::string& line : final_output->lines) print(line);
        report_is_shown = true;
        if (plan.report_file == Plan::kStandardOutput) logs.print_on_stdout(json_report(final_output->report));
        doing = Doing::report;
        for (const auto& warning : write_reports(plan, final_output->report)) print(warning);
        reports_are_written = true;
        doing = logging();
    }
    print_warnings();
    if (const std::uint64_t lost = lost_lines) print(fmt::format("{} messages of dlaunch were lost", lost));
    logs.finish(patience, [this, done = std::move(done)](const Logs::Dropped& dropped) {
        // A loss on stderr cannot be reported: the message would wait for the same stalled reader.
        if (dropped.out && !dropped.err)
            print(
                fmt::format("{} bytes of output were lost: the reader of standard output does not read", dropped.out));
        doing = Doing::removal;
        if (other.remove) other.remove();
        logs.remove_folder();
        done("");
        logs.close_folder();  // takes longer than the removal
    });
}

}  // namespace dlaunch::agent
