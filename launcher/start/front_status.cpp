#include "launcher/start/front_status.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "rendezvous/base/utc.hpp"

namespace dlaunch::launcher {
namespace {

/// The fields of an agent's status, as far as a front end knows them.
std::string status_of(const agent::Plan& job, const std::string& began, const std::string& state) {
    const nlohmann::ordered_json status{
        {"job", job.rendezvous.job_id},
        {"host", job.host.name},
        {"is_front_end", true},
        {"state", state},
        {"nodes", {{"min", job.rendezvous.min_nodes}, {"max", job.rendezvous.max_nodes}}},
        {"program", job.program_names()},
        {"began", began},
        {"workers", nlohmann::ordered_json::array()}};
    return status.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

FrontStatus::FrontStatus(base::Loop& loop, const FrontPlan& plan, agent::GuardLink& link,
                         std::function<std::string()> state) {
    file_->make("", plan.job.temporary_folder);
    link_.make(plan.job.runtime_folder, file_->path());
    link.register_folder(file_->folder());
    socket_ = std::make_unique<agent::AgentSocket>(loop, file_);
    const std::string began = base::utc_text(std::chrono::system_clock::now());
    socket_->on_status([&job = plan.job, began, state = std::move(state)] { return status_of(job, began, state()); });
}

}  // namespace dlaunch::launcher
