#include "worker_lib/src/core/capabilities.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/gloo/plugin.hpp"
#include "worker_lib/src/nccl/library.hpp"

namespace dlaunch {
namespace {

constexpr auto kNo = Support::no, kYes = Support::yes, kCopied = Support::copied;

// Used both to refuse calls and by `dlaunch backends`.
constexpr Capabilities kTable[] = {
    // clang-format off
    // Columns in the order of enum Feature.
    {"shm",  Device::cpu,  {kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes}},
    {"tcp",  Device::cpu,  {kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes}},
    {"gloo", Device::cpu,  {kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes}},
    {"nccl", Device::cpu,  {kNo, kNo, kCopied, kCopied, kCopied, kCopied, kCopied, kCopied, kCopied, kCopied, kCopied,
                           kCopied, kYes, kNo, kNo}},
    {"nccl", Device::cuda, {kYes, kNo, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kCopied, kYes, kNo, kNo}},
    {"auto", Device::cpu,  {kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes}},
    {"auto", Device::cuda, {kYes, kNo, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes, kCopied, kYes, kNo, kNo}},
    // clang-format on
};

constexpr const char* kNames[kFeatures] = {"send, recv",        "from any, tags, up to",
                                           "broadcast",         "reduce",
                                           "all_reduce",        "gather",
                                           "scatter",           "all_gather",
                                           "reduce_scatter",    "all_to_all",
                                           "forms with counts", "bitwise, 16 bit, bool",
                                           "barrier",           "scan, exscan",
                                           "own functions"};

const char* memory_name(Device device) { return device == Device::cpu ? "host" : "device"; }

}  // namespace

std::span<const Capabilities> capabilities() { return kTable; }

Support supports(const std::string& backend, Feature feature, Device device) {
    for (const Capabilities& row : kTable)
        if (row.backend == backend && row.device == device) return row.support[static_cast<int>(feature)];
    return Support::no;
}

std::string why_unusable(const std::string& backend) {
    try {
        if (backend == "gloo") {
            worker::load_gloo_backend();
        } else if (backend == "nccl") {
            (void)worker::nccl::cuda();
            (void)worker::nccl::nccl();
        } else if (backend != "shm" && backend != "tcp" && backend != "auto") {
            return "there is no such backend";
        }
        return {};
    } catch (const Error& error) {
        return error.what();
    }
}

std::string describe_backends() {
    std::string text = fmt::format("{:<24}", "");
    for (const Capabilities& column : kTable) text += fmt::format("{:<8}", column.backend);
    text += fmt::format("\n{:<24}", "memory");
    for (const Capabilities& column : kTable) text += fmt::format("{:<8}", memory_name(column.device));
    for (int feature = 0; feature < kFeatures; ++feature) {
        text += fmt::format("\n{:<24}", kNames[feature]);
        static constexpr const char* kWords[] = {"no", "yes", "copied"};
        for (const Capabilities& column : kTable)
            text += fmt::format("{:<8}", kWords[static_cast<int>(column.support[feature])]);
    }
    text += "\n\ncopied: by way of the other memory, and the caller's thread waits\n";
    text += "send and recv of device memory that cross each other belong into one batch_isend_irecv\n\n";
    for (const char* backend : {"shm", "tcp", "gloo", "nccl", "auto"}) {
        const std::string why = why_unusable(backend);
        text += fmt::format("{:<6}{}\n", backend, why.empty() ? "can be used here" : "cannot be used here: " + why);
    }
    text += "mpi   is none of these: MPI programs run under dlaunch themselves\n";
    text += "xccl  is absent\n";
    // Remove the padding at the ends of lines.
    std::string trimmed;
    for (const char c : text) {
        if (c == '\n') trimmed.erase(trimmed.find_last_not_of(' ') + 1);
        trimmed += c;
    }
    return trimmed;
}

namespace worker {

Feature feature_of(const Call& call) {
    if (call.function) return Feature::function;
    static constexpr Feature kFeaturesOf[] = {
        Feature::barrier,    Feature::broadcast, Feature::reduce,     Feature::all_reduce,
        Feature::gather,     Feature::scatter,   Feature::all_gather, Feature::reduce_scatter,
        Feature::all_to_all, Feature::scan,      Feature::scan};
    return kFeaturesOf[static_cast<int>(call.op)];
}

Feature feature_of(const Transfer& transfer) {
    const bool picks =
        transfer.sends ? transfer.tag != 0 : transfer.peer == kAnySource || transfer.tag > 0 || transfer.up_to;
    return picks ? Feature::recv_any : Feature::send_recv;
}

std::string refusal(const std::string& backend, Feature feature, Device device) {
    std::string others;
    for (const Capabilities& row : kTable)
        if (row.device == device && row.support[static_cast<int>(feature)] != Support::no)
            others += fmt::format("{}{}", others.empty() ? "" : " or ", row.backend);
    return fmt::format("the backend {} has no \"{}\" for {} memory{}", backend, kNames[static_cast<int>(feature)],
                       memory_name(device), others.empty() ? "" : fmt::format("; use the backend {}", others));
}

}  // namespace worker
}  // namespace dlaunch

/// Entry point for `dlaunch backends`, which loads this library: prints the matrix to stdout; 1 if the write fails.
extern "C" __attribute__((visibility("default"))) int dlaunch_print_backends() {
    const std::string text = dlaunch::describe_backends();
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!written) std::perror("dlaunch: stdout");
    return written ? 0 : 1;
}
