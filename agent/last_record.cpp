#include "agent/last_record.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "agent/errors/report.hpp"
#include "agent/job_result.hpp"
#include "agent/status/event_file.hpp"
#include "agent/status/events.hpp"
#include "agent/status/write_file.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {
namespace {

using nlohmann::json;

/// At the file's begin, replaced by each round; JSON text follows.
struct Rounds {
    int begun = 0, restarts = 0, max_restarts = 0;
};

/// The clock is the same for all processes of a machine.
std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(base::Clock::now().time_since_epoch()).count();
}

std::string read_all(int file) {
    std::string text;
    std::array<char, 4096> part;
    for (auto at = static_cast<off_t>(sizeof(Rounds));;) {
        const ssize_t got = pread(file, part.data(), part.size(), at);
        if (got <= 0) return text;
        text.append(part.data(), static_cast<std::size_t>(got));
        at += got;
    }
}

void write_to(const std::string& path, const std::string& text) {
    if (path == Plan::kStandardOutput)
        base::write_all(STDOUT_FILENO, text);
    else
        static_cast<void>(write_file(path, text));
}

void add_event(const std::string& path, const std::string& line) {
    if (path == Plan::kStandardOutput) {
        base::write_all(STDOUT_FILENO, line);
        return;
    }
    if (auto log = EventFile::open(path)) log->write(line);
}

}  // namespace

LastRecord LastRecord::of(const Plan& plan) {
    LastRecord record;
    if (plan.report_file.empty() && plan.event_log.empty()) return record;
    json words = json::array();
    for (const std::string& word : plan.command_line) words.push_back(base::valid_utf8(word));
    const json facts{{"report", plan.report_file},       {"event_log", plan.event_log},
                     {"job_id", plan.rendezvous.job_id}, {"program", plan.program_names()},
                     {"command_line", std::move(words)}, {"began_ns", now_ns()}};
    std::string text(sizeof(Rounds), '\0');
    text += facts.dump(-1, ' ', false, json::error_handler_t::replace);
    record.file_.reset(memfd_create("dlaunch-last-record", MFD_CLOEXEC));
    if (record.file_ && !base::write_all(record.file_.get(), text)) record.file_.reset();
    return record;
}

void LastRecord::add_round(int rounds, int restarts, int max_restarts) const {
    if (!file_) return;
    const Rounds now{rounds, restarts, max_restarts};
    [[maybe_unused]] const auto ignored = pwrite(file_.get(), &now, sizeof now, 0);
}

void write_last_record(int file, int status, std::string_view reason) {
    Rounds rounds;
    const json facts = json::parse(read_all(file), nullptr, false);
    if (facts.is_discarded() || pread(file, &rounds, sizeof rounds, 0) != sizeof rounds) return;
    JobResult end;
    end.job_id = facts.value("job_id", "");
    end.program = facts.value("program", "");
    end.command_line = facts.value("command_line", std::vector<std::string>());
    end.exit_status = status;
    end.reason = reason;
    end.rounds = rounds.begun;
    end.restarts = rounds.restarts;
    end.max_restarts = rounds.max_restarts;
    set_times(static_cast<double>(now_ns() - facts.value("began_ns", std::int64_t{0})) / 1e9, end);
    if (const std::string log = facts.value("event_log", ""); !log.empty())
        EventLog(end.job_id, [&](const std::string& line) {
            add_event(log, line);
        }).write_job_ended(status, end.seconds, reason);
    if (const std::string report = facts.value("report", ""); !report.empty()) write_to(report, json_report(end));
}

}  // namespace dlaunch::agent
