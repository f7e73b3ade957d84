#include "launcher/plan_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/binding/devices.hpp"
#include "agent/group/environment.hpp"
#include "launcher/slurm/defaults.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

struct DeviceWord {
    WorkerCount::Kind kind;
    std::string_view one, drivers;  ///< for the error
    std::vector<agent::Vendor> vendors;
};

/// The entry for a word of --nproc-per-node; words that stand for no device are like `auto`.
const DeviceWord& device_word(WorkerCount::Kind kind) {
    using Kind = WorkerCount::Kind;
    using enum agent::Vendor;
    static const DeviceWord kWords[] = {
        {Kind::gpu, "a GPU", "NVIDIA or AMD", {nvidia, amd}},  // torch.cuda is either
        {Kind::xpu, "an Intel GPU", "Intel", {intel}},
        {Kind::hpu, "a Gaudi processor", "Habana", {habana}},
        {Kind::npu, "an Ascend processor", "Ascend", {ascend}},
        {Kind::automatic, "a device", "known", {std::begin(agent::kVendors), std::end(agent::kVendors)}}};
    const auto found = std::ranges::find(kWords, kind, &DeviceWord::kind);
    return found == std::end(kWords) ? *std::prev(std::end(kWords)) : *found;
}

}  // namespace

/// Numbers count all devices of the node, whatever a variable hides.
void choose_devices(const Settings& settings, const Deps& deps, agent::Host& host) {
    if (settings.devices.empty()) return;
    const auto nothing_set = [](std::string_view) { return std::optional<std::string>(); };
    const auto has_some = [&](agent::Vendor vendor) { return !deps.devices(vendor, nothing_set).empty(); };
    const auto* const found = std::ranges::find_if(agent::kVendors, has_some);
    const agent::Vendor vendor = found == std::end(agent::kVendors) ? agent::Vendor::nvidia : *found;
    for (const std::string_view name : agent::set_visibility_variables(vendor))
        agent::set_variable(host.environment, name, settings.devices);
}

Result<std::int64_t> count_devices(const Settings& settings, const agent::Plan& plan, const agent::Context& context,
                                   const Deps& deps) {
    const auto variable = agent::variables_given(plan, context);
    const DeviceWord& word = device_word(settings.workers.kind);
    if (word.vendors.front() == agent::Vendor::nvidia)
        if (const auto of_slurm = slurm_gpus(deps.host, variable("CUDA_VISIBLE_DEVICES")))
            return std::int64_t{*of_slurm};
    std::string reason = fmt::format("no {} driver lists one", word.drivers);
    for (const agent::Vendor vendor : word.vendors) {
        if (const auto found = deps.devices(vendor, variable); !found.empty()) return std::ssize(found);
        const auto list = agent::visibility_in_effect(vendor, variable);
        const auto hides = list ? fmt::format(", or {}={} hides them", list->variable, list->value) : std::string();
        if (reason.find(hides) == std::string::npos) reason += hides;  // two vendors may share the variable
    }
    return Error{
        fmt::format("{}: expected {}, none is visible ({})", settings.spelling("nproc-per-node"), word.one, reason)};
}

agent::Vendor device_vendor(const Settings& settings, const agent::Plan& plan, const Deps& deps) {
    for (const agent::Vendor vendor : device_word(settings.workers.kind).vendors)
        if (!deps.devices(vendor, agent::variables_given(plan, plan.contexts.front())).empty()) return vendor;
    return agent::Vendor::nvidia;
}

/// Gaudi's runtime chooses by places in the machine. In a container with some of the devices they need not begin at 0.
void name_modules(const Deps& deps, agent::Plan& plan) {
    if (!plan.virtual_local_rank || plan.vendor != agent::Vendor::habana) return;
    const std::string_view name = agent::visibility_variable(plan.vendor);
    for (agent::Context& context : plan.contexts) {
        const auto variable = agent::variables_given(plan, context);
        std::vector<int> modules;
        for (const agent::Device& device : deps.devices(plan.vendor, variable)) modules.push_back(device.module_id);
        if (modules.empty() || !variable(name).value_or("").empty()) continue;
        std::ranges::sort(modules);
        agent::set_variable(context.program.environment, name, fmt::format("{}", fmt::join(modules, ",")));
    }
}

/// A list in a context's --env serves its workers, an inherited or common list the workers of all contexts.
Result<void> check_devices(const Settings& settings, const agent::Plan& plan) {
    if (!plan.virtual_local_rank) return {};
    for (const agent::Context& context : plan.contexts) {
        const auto list = agent::visibility_in_effect(plan.vendor, agent::variables_given(plan, context));
        if (!list || list->value.empty()) continue;
        const int workers = agent::has_own_devices(plan, context) ? context.workers : plan.workers();
        const auto devices = agent::device_entries(list->value).size();
        if (devices < static_cast<std::size_t>(workers))
            return Error{fmt::format("{}: expected a device for each of {} workers, {}={} names {}",
                                     settings.spelling("virtual-local-rank"), workers, list->variable, list->value,
                                     devices)};
    }
    return {};
}

/// The front end has compared numbers with the slots; words like `gpu` are numbers only on the node.
Result<void> check_slots(const std::vector<ContextRequest>& contexts, const agent::Plan& plan) {
    const auto& slots = contexts.front().settings.slots;
    if (!slots || plan.workers() <= *slots) return {};
    const auto counts = [](const ContextRequest& context) {
        return context.settings.workers.kind != WorkerCount::Kind::number;
    };
    const auto found = std::ranges::find_if(contexts, counts);
    const Settings& settings = (found == contexts.end() ? contexts.begin() : found)->settings;
    return Error{fmt::format("{}: {} workers for {} slot{}, expected no more workers than slots",
                             settings.spelling("nproc-per-node"), plan.workers(), *slots, *slots == 1 ? "" : "s")};
}

}  // namespace dlaunch::launcher
