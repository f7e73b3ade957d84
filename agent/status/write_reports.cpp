#include "agent/status/write_reports.hpp"

#include "agent/errors/error_file.hpp"
#include "agent/status/write_file.hpp"

namespace dlaunch::agent {

std::vector<std::string> write_reports(const Plan& plan, const JobResult& end) {
    std::vector<std::string> warnings;
    const auto write = [&](const char* what, const std::string& path, const std::string& text) {
        if (auto warning = write_file(path, text); !warning.empty())
            warnings.push_back(std::string(what) + " " + warning);
    };
    const bool has_cause = end.exit_status != 0 && !end.failures.empty() && !end.failures.front().collateral;
    if (has_cause && !plan.agent_error_file.empty())
        write("error file", plan.agent_error_file, agent_error_file(end.failures.front()));
    if (!plan.report_file.empty() && plan.report_file != Plan::kStandardOutput)
        write("report", plan.report_file, json_report(end));
    return warnings;
}

}  // namespace dlaunch::agent
