#include "launcher/plan_devices.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "agent/group/environment.hpp"
#include "tests/unit/launcher/planned.hpp"

namespace dlaunch::launcher {
namespace {

/// So many devices of each vendor.
auto devices(std::map<agent::Vendor, std::size_t> found) {
    return [found = std::move(found)](agent::Vendor vendor, const agent::VariableLookup&) {
        const auto at = found.find(vendor);
        return std::vector<agent::Device>(at == found.end() ? 0 : at->second);
    };
}

TEST(PlanWorkers, WordsResolveToCountsOfTheMachine) {
    Deps machine = small_machine({{"CUDA_VISIBLE_DEVICES", "0,1"}});
    EXPECT_EQ(planned({"p"}, machine).plan->workers(), 1);
    EXPECT_EQ(planned({"--nproc-per-node=cpu", "p"}, machine).plan->workers(), 4);
    EXPECT_EQ(planned({"--nproc-per-node=auto", "p"}, machine).plan->workers(), 4);
    machine.devices = devices({{agent::Vendor::nvidia, 2}});
    EXPECT_EQ(planned({"--nproc-per-node=auto", "p"}, machine).plan->workers(), 2);
    EXPECT_EQ(planned({"--nproc-per-node=gpu", "p"}, machine).plan->workers(), 2);
}

TEST(PlanWorkers, EveryVendorsDevicesCount) {
    using enum agent::Vendor;
    const auto workers = [](const char* word, std::map<agent::Vendor, std::size_t> found) {
        Deps machine = small_machine();
        machine.devices = devices(std::move(found));
        return planned({std::string("--nproc-per-node=") + word, "p"}, machine).plan->workers();
    };
    EXPECT_EQ(workers("gpu", {{nvidia, 8}, {amd, 2}}), 8);
    EXPECT_EQ(workers("gpu", {{amd, 2}, {intel, 5}}), 2) << "torch.cuda is ROCm there";
    EXPECT_EQ(workers("xpu", {{nvidia, 8}, {intel, 5}}), 5);
    EXPECT_EQ(workers("hpu", {{habana, 6}}), 6);
    EXPECT_EQ(workers("npu", {{ascend, 16}}), 16);
    EXPECT_EQ(workers("auto", {{ascend, 16}, {intel, 5}}), 5);
    EXPECT_EQ(workers("auto", {{ascend, 16}}), 16);
    EXPECT_EQ(workers("auto", {}), 4);
}

TEST(PlanWorkers, ADeviceMustBeThere) {
    EXPECT_EQ(planned({"--nproc-per-node=gpu", "p"}).error(),
              "--nproc-per-node=gpu: expected a GPU, none is visible (no NVIDIA or AMD driver lists one)");
    EXPECT_EQ(planned({"--nproc-per-node=gpu", "p"}, small_machine({{"CUDA_VISIBLE_DEVICES", ""}})).error(),
              "--nproc-per-node=gpu: expected a GPU, none is visible (no NVIDIA or AMD driver lists one, or "
              "CUDA_VISIBLE_DEVICES= hides them)");
    EXPECT_EQ(planned({"--nproc-per-node=xpu", "p"}, small_machine({{"ZE_AFFINITY_MASK", "9"}})).error(),
              "--nproc-per-node=xpu: expected an Intel GPU, none is visible (no Intel driver lists one, or "
              "ZE_AFFINITY_MASK=9 hides them)");
    EXPECT_EQ(planned({"--nproc-per-node=mlu", "p"}).error(),
              "--nproc-per-node=mlu: expected a number, cpu, gpu, xpu, hpu, npu or auto: mlus cannot be counted here; "
              "give their number");
}

TEST(PlanWorkers, TheWorkersDevicesCountNotTheAgents) {
    Deps machine = small_machine({{"CUDA_VISIBLE_DEVICES", "0"}});
    machine.devices = [](agent::Vendor, const agent::VariableLookup& variable) {
        return variable("CUDA_VISIBLE_DEVICES") == "6,7" ? std::vector<agent::Device>(2)
                                                         : std::vector<agent::Device>(1);
    };
    EXPECT_EQ(planned({"--nproc-per-node=gpu", "--env=CUDA_VISIBLE_DEVICES=6,7", "p"}, machine).plan->workers(), 2);
    EXPECT_TRUE(
        planned({"--virtual-local-rank", "--nproc-per-node=2", "--env=CUDA_VISIBLE_DEVICES=6,7", "p"}, machine).plan);
    EXPECT_EQ(planned({"--virtual-local-rank", "--nproc-per-node=2", "--env=CUDA_VISIBLE_DEVICES=0", "p"}).error(),
              "--virtual-local-rank: expected a device for each of 2 workers, CUDA_VISIBLE_DEVICES=0 names 1");
}

TEST(PlanDevices, VirtualLocalRankNeedsOneEach) {
    Deps two = small_machine({{"CUDA_VISIBLE_DEVICES", "6,3"}});
    EXPECT_TRUE(planned({"--virtual-local-rank", "--nproc-per-node=2", "p"}, two).plan);
    EXPECT_EQ(planned({"--virtual-local-rank", "--nproc-per-node=3", "p"}, two).error(),
              "--virtual-local-rank: expected a device for each of 3 workers, CUDA_VISIBLE_DEVICES=6,3 names 2");
    Deps one = small_machine({{"CUDA_VISIBLE_DEVICES", ",4, ,"}});
    EXPECT_EQ(planned({"--virtual-local-rank", "--nproc-per-node=2", "p"}, one).error(),
              "--virtual-local-rank: expected a device for each of 2 workers, CUDA_VISIBLE_DEVICES=,4, , names 1");
    EXPECT_TRUE(planned({"--virtual-local-rank", "--nproc-per-node=3", "p"}).plan)
        << "unset: the device is the local rank";
}

TEST(PlanDevices, VirtualLocalRanksAreForTheDevicesOfTheNode) {
    using enum agent::Vendor;
    const auto vendor = [](const char* workers, std::map<agent::Vendor, std::size_t> found) {
        Deps machine = small_machine();
        machine.devices = devices(std::move(found));
        return planned({"--virtual-local-rank", workers, "p"}, machine).plan->vendor;
    };
    EXPECT_EQ(vendor("--nproc-per-node=2", {}), nvidia);
    EXPECT_EQ(vendor("--nproc-per-node=2", {{habana, 2}}), habana);
    EXPECT_EQ(vendor("--nproc-per-node=xpu", {{nvidia, 8}, {intel, 2}}), intel);
    EXPECT_EQ(vendor("--nproc-per-node=auto", {{amd, 2}}), amd);
    Deps machine = small_machine({{"ZE_AFFINITY_MASK", "2"}, {"CUDA_VISIBLE_DEVICES", "0,1"}});
    machine.devices = devices({{intel, 1}});
    EXPECT_EQ(planned({"--virtual-local-rank", "--nproc-per-node=2", "p"}, machine).error(),
              "--virtual-local-rank: expected a device for each of 2 workers, ZE_AFFINITY_MASK=2 names 1");
}

TEST(PlanDevices, VirtualLocalRanksOfHabanaAreThePlacesOfTheDevicesThatAreSeen) {
    Deps machine = small_machine();
    machine.devices = [](agent::Vendor vendor, const agent::VariableLookup&) {
        if (vendor != agent::Vendor::habana) return std::vector<agent::Device>();
        return std::vector<agent::Device>{{.number = 0, .module_id = 6}, {.number = 1, .module_id = 2}};
    };
    const auto list = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "--nproc-per-node=2");
        words.push_back("p");
        const auto plan = *planned(words, machine).plan;
        return agent::variables_given(plan, plan.contexts.front())("HABANA_VISIBLE_MODULES");
    };
    EXPECT_EQ(list({"--virtual-local-rank"}), "2,6");
    EXPECT_EQ(list({}), std::nullopt);
    EXPECT_EQ(list({"--virtual-local-rank", "--env=HABANA_VISIBLE_MODULES=6,2"}), "6,2");
    EXPECT_EQ(planned({"--virtual-local-rank", "--nproc-per-node=3", "p"}, machine).error(),
              "--virtual-local-rank: expected a device for each of 3 workers, HABANA_VISIBLE_MODULES=2,6 names 2");
}

TEST(PlanDevices, TheChosenOnesAreInTheVariablesOfTheirVendor) {
    using enum agent::Vendor;
    const auto inherited = [](std::map<agent::Vendor, std::size_t> found, const char* name) {
        Deps machine = small_machine({{"CUDA_VISIBLE_DEVICES", ""}});
        machine.devices = devices(std::move(found));
        return planned({"--devices=1,3", "p"}, machine).plan->host.variable(name);
    };
    EXPECT_EQ(inherited({}, "CUDA_VISIBLE_DEVICES"), "1,3");
    EXPECT_EQ(inherited({{intel, 4}}, "ZE_AFFINITY_MASK"), "1,3");
    EXPECT_EQ(inherited({{intel, 4}}, "CUDA_VISIBLE_DEVICES"), "");
    EXPECT_EQ(inherited({{habana, 8}}, "HABANA_VISIBLE_MODULES"), "1,3");
    EXPECT_EQ(inherited({{ascend, 8}}, "ASCEND_RT_VISIBLE_DEVICES"), "1,3");
    for (const char* name : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
        EXPECT_EQ(inherited({{amd, 4}}, name), "1,3");
    Deps machine = small_machine();
    machine.devices = devices({{intel, 4}});
    EXPECT_EQ(planned({"--devices=1", "--virtual-local-rank", "--nproc-per-node=2", "p"}, machine).error(),
              "--virtual-local-rank: expected a device for each of 2 workers, ZE_AFFINITY_MASK=1 names 1");
}

TEST(PlanWorkers, OneNumberOfJaxForAllIsAWarning) {
    const auto warnings = [](const char* workers, const char* variable) {
        return planned({workers, "p"}, small_machine({{variable, "1"}})).warnings;
    };
    EXPECT_EQ(warnings("--nproc-per-node=2", "JAX_PROCESS_ID"),
              Words{"JAX_PROCESS_ID=1 is the number of several workers; unset it to give each its own"});
    EXPECT_EQ(warnings("--nproc-per-node=1", "JAX_PROCESS_ID"), Words{});
    EXPECT_EQ(warnings("--nproc-per-node=2", "JAX_NUM_PROCESSES"), Words{});
}

}  // namespace
}  // namespace dlaunch::launcher
