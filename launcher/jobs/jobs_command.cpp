#include "launcher/jobs/jobs_command.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "agent/process/pidfd.hpp"
#include "launcher/cli/subcommands.hpp"
#include "launcher/cli/values.hpp"
#include "launcher/jobs/ended_run.hpp"
#include "launcher/jobs/job_logs.hpp"
#include "launcher/print_error.hpp"
#include "rendezvous/base/escape.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

constexpr int kFailed = 1;
constexpr int kLookMs = 100;  // poll interval of files, whose growth causes no event

constexpr std::array<std::string_view, 4> kNames{"logs", "ps", "status", "stop"};

constexpr const char* kJobNote = R"(
JOB is the job's id (--rdzv-id) or the pid of its dlaunch; without it, the only job is meant. Jobs
are those of this user on this node. They are found by sockets in $TMPDIR and by links in
$XDG_RUNTIME_DIR.

)";

std::string help_of(std::string_view command) {
    std::string text;
    if (command == "ps")
        text = "Usage: dlaunch ps\n\nLists the jobs, also those that wait for nodes.\n";
    else if (command == "status")
        text = "Usage: dlaunch status [JOB] [--json]\n\nPrints a job's state, and its workers on this node.\n";
    else if (command == "logs")
        text =
            "Usage: dlaunch logs [JOB] [-f] [--rank R]\n\nPrints the log files (-r, -t) of a job's current round on "
            "this node, with the rank before each\nline; with --rank those of one worker as they are. Where no job "
            "runs, "
            "those of the newest ended\nrun in $TMPDIR, also named latest; JOB may be the folder of a run, or the "
            "program of the only\nsuch run there.\n";
    else
        text = "Usage: dlaunch stop [JOB]\n\nEnds a job as SIGTERM to its dlaunch does, and waits for its end.\n";
    return text + kJobNote + options_help(command) +
           "\nExit status: 0 done; 1 no such job, or no log files; 2 wrong usage, or several such jobs\nMore: man "
           "dlaunch\n";
}

int print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return 0;
    std::perror("dlaunch: stdout");
    return kFailed;
}

/// Descriptors that become readable at the end of the processes. Where the system refuses one, its pid is looked at.
class Ends {
public:
    explicit Ends(std::vector<pid_t> pids) : pids_(std::move(pids)) {
        for (const pid_t pid : pids_) descriptors_.push_back(agent::open_pidfd(pid));
    }
    void signal(int number) const {
        for (std::size_t at = 0; at < pids_.size(); ++at) agent::send_signal(descriptors_[at], pids_[at], number);
    }
    /// True: all have ended, within the time.
    [[nodiscard]] bool wait(int milliseconds) const {
        bool any = false;
        for (std::size_t at = 0; at < pids_.size(); ++at) {
            if (has_ended(at, any ? 0 : milliseconds)) continue;
            any = true;
        }
        return !any;
    }

private:
    [[nodiscard]] bool has_ended(std::size_t at, int milliseconds) const {
        if (kill(pids_[at], 0) != 0 && errno == ESRCH) return true;
        pollfd end{descriptors_[at].get(), POLLIN, 0};
        return poll(&end, 1, milliseconds) > 0;
    }

    std::vector<pid_t> pids_;
    std::vector<base::UniqueFd> descriptors_;
};

/// The folders of the job's log files on this node.
std::vector<std::string> logs_of(const RunningJob& job) {
    std::vector<std::string> runs;
    for (const JobProcess& process : job.processes)
        if (!process.logs.empty()) runs.push_back(process.logs);
    return runs;
}

int stop(const RunningJob& job) {
    const Ends ends(pids_to_stop(job));
    ends.signal(SIGTERM);
    while (!ends.wait(kLookMs)) {}
    return print(fmt::format("job {} has ended\n", job.id));
}

int end_logs(LogReader& reader, const std::string& job, const JobsRequest& request) {
    reader.finish();
    if (reader.has_found_any() || !request.rank) return 0;
    return print_error(
        {fmt::format("logs: job {} has no log files of rank {} on this node", job, *request.rank), kFailed});
}

int show_logs(const RunningJob& job, const JobsRequest& request) {
    const std::vector<std::string> runs = logs_of(job);
    if (runs.empty())
        return print_error({fmt::format("logs: job {} has no log files on this node, expected -r 3 or -t 3 in its "
                                        "command line",
                                        job.id),
                            kFailed});
    LogReader reader(runs, request.rank);
    const Ends ends(pids_to_stop(job));
    bool has_ended = !request.follow;
    while (reader.print_new() && !has_ended) has_ended = ends.wait(kLookMs);
    if (request.follow) reader.print_new();  // the lines of the end
    return end_logs(reader, job.id, request);
}

int show_ended_logs(const std::string& run, const JobsRequest& request) {
    const std::string name = base::printable(run.substr(run.rfind('/') + 1));
    print_error({fmt::format("job {} has ended", name), 0});
    LogReader reader({run}, request.rank);
    reader.print_new();
    return end_logs(reader, name, request);
}

/// None: no running job is meant, and no run is there.
std::optional<int> show_logs_of_run(const std::vector<RunningJob>& jobs, const JobsRequest& request,
                                    const JobPlaces& places) {
    const auto run = find_run(request.job, places.temporary);
    if (!run) return std::nullopt;
    std::error_code missing;
    for (const RunningJob& job : jobs)
        for (const std::string& other : logs_of(job))
            if (std::filesystem::equivalent(other, *run, missing)) return show_logs(job, request);
    return show_ended_logs(*run, request);
}

int run(std::string_view command, const JobsRequest& request, const JobPlaces& places) {
    const std::vector<RunningJob> jobs = group_jobs(find_processes(places));
    if (command == "ps") {
        if (jobs.empty()) return print_error({"no job of yours runs on this node", 0});
        return print(jobs_text(jobs));
    }
    const auto job = choose_job(jobs, request.job);
    if (!job && job.error().status == kNoSuchJob && command == "logs")
        if (const auto status = show_logs_of_run(jobs, request, places)) return *status;
    if (!job) return print_error({fmt::format("{}: {}", command, job.error().text), job.error().status});
    if (command == "stop") return stop(*job);
    if (command == "logs") return show_logs(*job, request);
    return print(request.json ? job_json(*job) : job_text(*job));
}

}  // namespace

bool is_jobs_command(std::string_view command) { return std::ranges::find(kNames, command) != kNames.end(); }

Result<JobsRequest> read_jobs_request(std::string_view command, const std::vector<std::string>& arguments) {
    JobsRequest request;
    const auto wrong = [&](std::string_view word) {
        return Error{
            fmt::format("{}: {}, expected what dlaunch {} --help shows", command, base::printable(word), command)};
    };
    const bool is_status = command == "status", is_logs = command == "logs";
    bool options = true;
    for (std::size_t at = 0; at < arguments.size(); ++at) {
        const std::string& word = arguments[at];
        const bool is_rank = is_logs && options && (word == "--rank" || word.starts_with("--rank="));
        if (options && word == "--") {
            options = false;
        } else if (options && (word == "-h" || word == "--help")) {
            request.help = true;
        } else if (options && is_status && word == "--json") {
            request.json = true;
        } else if (options && is_logs && (word == "-f" || word == "--follow")) {
            request.follow = true;
        } else if (is_rank) {
            const bool is_apart = word == "--rank";
            if (is_apart && ++at == arguments.size()) return wrong("nothing after --rank");
            const std::string value = is_apart ? arguments[at] : word.substr(std::strlen("--rank="));
            const auto rank = parse_count(value, "a rank");
            if (!rank) return rank.error().within(fmt::format("{} --rank={}", command, value));
            request.rank = *rank;
        } else if ((options && word.starts_with('-')) || request.job || word.empty() || command == "ps") {
            return wrong(word.empty() ? "an empty name" : word);
        } else {
            request.job = word;
        }
    }
    return request;
}

int run_jobs_command(std::string_view command, const std::vector<std::string>& arguments, const JobPlaces& places) {
    const auto request = read_jobs_request(command, arguments);
    if (!request) return print_error(request.error());
    if (request->help) return print(help_of(command));
    return run(command, *request, places);
}

}  // namespace dlaunch::launcher
