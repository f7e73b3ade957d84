#include "launcher/jobs/running_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "rendezvous/base/escape.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;
using Json = nlohmann::ordered_json;

constexpr int kWrongUsage = 2;

std::vector<JobWorker> read_workers(const Json& reply) {
    std::vector<JobWorker> workers;
    for (const Json& each : reply.value("workers", Json::array()))
        workers.push_back({each.value("rank", 0), each.value("local_rank", 0), each.value("pid", 0),
                           each.value("alive", false), each.value("status", 0)});
    return workers;
}

/// Equal for the processes of one job.
std::string group_key(const JobProcess& process) {
    if (process.is_front_end || process.has_front_end) return "front " + process.job;
    if (process.reply.empty() || process.max_nodes == 1) return fmt::format("pid {}", process.pid);
    return fmt::format("nodes {} {}", process.endpoint, process.job);
}

std::string names_of(const std::vector<RunningJob>& jobs) {
    std::string names;
    for (const RunningJob& job : jobs)
        names += fmt::format("{}{} (pid {})", names.empty() ? "" : ", ", job.id, job.processes.front().pid);
    return names;
}

/// A job's id is printable here. One with control characters may be given as it is, or as `dlaunch ps` shows it.
bool is_named(const RunningJob& job, const std::string& name) {
    const auto has_number = [&](const JobProcess& process) { return std::to_string(process.pid) == name; };
    return job.id == base::printable(name) || std::ranges::any_of(job.processes, has_number);
}

/// "2 of 3": running workers of all workers on this node.
std::string workers_text(const RunningJob& job) {
    std::ptrdiff_t alive = 0, all = 0;
    for (const JobProcess& process : job.processes) {
        alive += std::ranges::count_if(process.workers, &JobWorker::alive);
        all += std::ssize(process.workers);
    }
    return all == 0 ? "-" : fmt::format("{} of {}", alive, all);
}

std::string worker_text(const JobWorker& worker) {
    const std::string state = worker.alive      ? "running"
                              : worker.pid == 0 ? "not started"
                                                : fmt::format("ended with {}", worker.status);
    const std::string pid = worker.pid == 0 ? "-" : std::to_string(worker.pid);
    return fmt::format("  rank {:<5} local rank {:<4} pid {:<8} {}\n", worker.rank, worker.local_rank, pid, state);
}

std::string process_text(const JobProcess& process) {
    const bool waits = process.state == "waiting";
    std::string state = process.state;
    if (waits && process.max_nodes > 1)
        state += process.min_nodes == process.max_nodes
                     ? fmt::format(" for {} nodes", process.max_nodes)
                     : fmt::format(" for {} to {} nodes", process.min_nodes, process.max_nodes);
    if (!waits && !process.is_front_end && !process.reply.empty())
        state += fmt::format(", round {}, {} restarts", process.round, process.restarts);
    std::string text = fmt::format("process:  {}{}{}\n", process.pid, process.host.empty() ? "" : " on " + process.host,
                                   process.is_front_end ? ", starts all nodes" : "");
    text += fmt::format("state:    {}\n", state);
    if (!process.began.empty()) text += fmt::format("began:    {}\n", process.began);
    if (!process.endpoint.empty()) text += fmt::format("endpoint: {}\n", process.endpoint);
    if (!process.logs.empty()) text += fmt::format("logs:     {}\n", process.logs);
    for (const JobWorker& worker : process.workers) text += worker_text(worker);
    return text;
}

using Row = std::array<std::string, 6>;

std::string table_text(const std::vector<Row>& rows) {
    std::array<std::size_t, std::tuple_size_v<Row>> widths{};
    for (const Row& row : rows)
        for (std::size_t at = 0; at < row.size(); ++at) widths[at] = std::max(widths[at], row[at].size());
    std::string text;
    for (const Row& row : rows) {
        for (std::size_t at = 0; at + 1 < row.size(); ++at) text += fmt::format("{:<{}}  ", row[at], widths[at]);
        text += row.back() + "\n";
    }
    return text;
}

}  // namespace

JobProcess read_process(pid_t pid, std::string_view reply) {
    JobProcess process;
    process.pid = pid;
    const Json json = Json::parse(reply, nullptr, false);
    if (!json.is_object()) return process;
    try {
        JobProcess full = process;
        const auto text = [&](const char* key) { return base::printable(json.value(key, "")); };
        full.job = text("job");
        full.host = text("host");
        full.state = text("state");
        full.endpoint = text("endpoint");
        full.program = text("program");
        full.began = text("began");
        full.logs = json.value("logs", "");
        full.is_front_end = json.value("is_front_end", false);
        full.has_front_end = json.value("has_front_end", false);
        const Json nodes = json.value("nodes", Json::object());
        full.min_nodes = nodes.value("min", 1);
        full.max_nodes = nodes.value("max", 1);
        full.round = json.value("round", 0);
        full.restarts = json.value("restart_count", 0);
        full.workers = read_workers(json);
        full.reply = json.dump();
        return full;
    } catch (const Json::exception&) {  // another version's reply
        return process;
    }
}

std::vector<RunningJob> group_jobs(std::vector<JobProcess> processes) {
    std::ranges::stable_sort(processes, {}, &JobProcess::began);
    std::vector<std::pair<std::string, RunningJob>> groups;
    for (JobProcess& process : processes) {
        const std::string key = group_key(process);
        auto group = std::ranges::find(groups, key, &std::pair<std::string, RunningJob>::first);
        if (group == groups.end()) group = groups.insert(groups.end(), {key, {process.job, {}}});
        auto& members = group->second.processes;
        members.insert(process.is_front_end ? members.begin() : members.end(), std::move(process));
    }
    std::vector<RunningJob> jobs;
    for (auto& [key, job] : groups) jobs.push_back(std::move(job));
    return jobs;
}

Result<RunningJob> choose_job(const std::vector<RunningJob>& jobs, const std::optional<std::string>& name) {
    std::vector<RunningJob> chosen;
    for (const RunningJob& job : jobs)
        if (!name || is_named(job, *name)) chosen.push_back(job);
    if (chosen.size() == 1) return std::move(chosen.front());
    if (chosen.empty() && name)
        return Error{
            fmt::format("no job {} of yours runs on this node; dlaunch ps lists those that do", base::printable(*name)),
            kNoSuchJob};
    if (chosen.empty()) return Error{"no job of yours runs on this node", kNoSuchJob};
    return Error{fmt::format("{} jobs run on this node, expected the {} of one: {}", chosen.size(),
                             name ? "pid" : "name or pid", names_of(chosen)),
                 kWrongUsage};
}

std::vector<pid_t> pids_to_stop(const RunningJob& job) {
    if (job.processes.front().is_front_end) return {job.processes.front().pid};
    std::vector<pid_t> pids;
    for (const JobProcess& process : job.processes) pids.push_back(process.pid);
    return pids;
}

std::string jobs_text(const std::vector<RunningJob>& jobs) {
    if (jobs.empty()) return {};
    std::vector<Row> rows{{"JOB", "PID", "STATE", "WORKERS", "BEGAN", "PROGRAM"}};
    for (const RunningJob& job : jobs) {
        const JobProcess& first = job.processes.front();
        rows.push_back({job.id, std::to_string(first.pid), first.state, workers_text(job),
                        first.began.empty() ? "-" : first.began.substr(0, first.began.find('.')) + "Z", first.program});
    }
    return table_text(rows);
}

std::string job_text(const RunningJob& job) {
    std::string text = fmt::format("job:      {}\nprogram:  {}\n", job.id, job.processes.front().program);
    for (const JobProcess& process : job.processes) text += process_text(process);
    return text;
}

std::string job_json(const RunningJob& job) {
    Json processes = Json::array();
    for (const JobProcess& process : job.processes) {
        Json one{{"pid", process.pid}, {"state", process.state}};
        if (!process.reply.empty()) one.update(Json::parse(process.reply));
        processes.push_back(std::move(one));
    }
    const Json all{{"job", job.id}, {"processes", std::move(processes)}};
    return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlaunch::launcher
