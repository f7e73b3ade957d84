#include <nlohmann/json.hpp>

#include "agent/errors/report.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/signal_names.hpp"
#include "rendezvous/base/utc.hpp"

namespace dlaunch::agent {

namespace {

using base::valid_utf8;
using nlohmann::ordered_json;

const char* name(ExitKind how) {
    switch (how) {
        case ExitKind::exited: return "exited";
        case ExitKind::signalled: return "signalled";
        case ExitKind::not_executed: return "not_executed";
        case ExitKind::timed_out: return "timed_out";
        case ExitKind::hung: return "hung";
        case ExitKind::judged: return "judged";
        case ExitKind::stopped: return "stopped";
    }
    return "";
}

const char* name(OutOfMemory out_of_memory) {
    switch (out_of_memory) {
        case OutOfMemory::no: return "no";
        case OutOfMemory::likely: return "likely";
        case OutOfMemory::certain: return "certain";
    }
    return "";
}

ordered_json record_json(const Failure& failure) {
    if (!failure.record) return nullptr;
    return {{"message", valid_utf8(failure.record->message)},
            {"callstack", valid_utf8(failure.record->callstack)},
            {"raw", valid_utf8(failure.record->raw)}};
}

ordered_json failure_json(const Failure& failure) {
    const bool has_code =
        failure.how == ExitKind::exited || failure.how == ExitKind::not_executed || failure.how == ExitKind::judged;
    const bool has_signal = failure.how == ExitKind::signalled;
    ordered_json words = ordered_json::array();
    for (const std::string& word : failure.stderr_tail) words.push_back(valid_utf8(word));
    ordered_json json;
    json["summary"] = valid_utf8(summary(failure));
    json["rank"] = failure.rank;
    json["local_rank"] = failure.local_rank;
    json["node_rank"] = failure.node_rank;
    json["role"] = valid_utf8(failure.role);
    json["host"] = valid_utf8(failure.host);
    json["pid"] = failure.pid > 0 ? ordered_json(failure.pid) : ordered_json();
    json["victim"] = failure.collateral;
    const bool outlived = failure.how == ExitKind::timed_out && !failure.because.empty();
    json["because"] = outlived ? "the time limit of the job" : failure.because;
    json["how"] = name(failure.how);
    json["code"] = has_code ? ordered_json(failure.code) : ordered_json();
    json["signal"] = has_signal ? ordered_json(failure.signal) : ordered_json();
    json["signal_name"] = has_signal ? ordered_json(base::signal_name(failure.signal)) : ordered_json();
    json["core_dumped"] = failure.core_dumped;
    json["exit_status"] = failure.exit_status();
    json["out_of_memory"] = name(failure.out_of_memory);
    json["memory_limit"] = valid_utf8(failure.memory_limit);
    json["text"] = valid_utf8(failure.text);
    json["round"] = failure.round;
    json["after"] = failure.after.count();
    json["time"] = base::utc_text(failure.when);
    json["record"] = record_json(failure);
    json["last_words"] = std::move(words);
    const bool is_late = failure.how == ExitKind::timed_out || failure.how == ExitKind::hung;
    if (is_late || !failure.last_line.empty()) {
        json["last_line"] = valid_utf8(failure.last_line);
        json["silent_seconds"] = failure.silent_for.count();
    }
    if (is_late) {
        json["stack"] = ordered_json::array();
        for (const std::string& frame : failure.stack) json["stack"].push_back(valid_utf8(frame));
    }
    json["stdout_file"] = valid_utf8(failure.stdout_file);
    json["stderr_file"] = valid_utf8(failure.stderr_file);
    json["error_file"] = valid_utf8(failure.error_file);
    return json;
}

ordered_json worker_json(const WorkerResult& worker) {
    return {{"rank", worker.rank},
            {"local_rank", worker.local_rank},
            {"role", valid_utf8(worker.role)},
            {"pid", worker.pid > 0 ? ordered_json(worker.pid) : ordered_json()},
            {"host", valid_utf8(worker.host)},
            {"exit_status", worker.exit_status},
            {"max_rss_kib", worker.usage.max_rss_kib},
            {"user_seconds", worker.usage.user_seconds},
            {"system_seconds", worker.usage.system_seconds}};
}

/// The first line of the text report, without "dlaunch: ".
std::string first_line(const JobResult& end) {
    constexpr std::size_t kName = std::string_view("dlaunch: ").size();
    const std::string text = text_report(end);
    return text.empty() ? "" : text.substr(kName, text.find('\n') - kName);
}

}  // namespace

std::string json_report(const JobResult& end) {
    ordered_json json;
    json["job_id"] = valid_utf8(end.job_id);
    json["program"] = valid_utf8(end.program);
    json["command_line"] = ordered_json::array();
    for (const std::string& word : end.command_line) json["command_line"].push_back(valid_utf8(word));
    json["version"] = DLAUNCH_VERSION;
    json["started"] = base::utc_text(end.started);
    json["ended"] = base::utc_text(end.ended);
    json["exit_status"] = end.exit_status;
    json["summary"] = valid_utf8(first_line(end));
    json["reason"] = valid_utf8(end.reason);
    json["rounds"] = end.rounds;
    json["restarts"] = end.restarts;
    json["max_restarts"] = end.max_restarts;
    json["seconds"] = end.seconds;
    json["log_directory"] = valid_utf8(end.log_directory);
    json["failures"] = ordered_json::array();
    for (const Failure& failure : end.failures) json["failures"].push_back(failure_json(failure));
    json["workers"] = ordered_json::array();
    for (const WorkerResult& worker : end.workers) json["workers"].push_back(worker_json(worker));
    return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace dlaunch::agent
