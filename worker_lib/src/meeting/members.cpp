#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "rendezvous/base/host.hpp"
#include "worker_lib/src/meeting/environment.hpp"
#include "worker_lib/src/meeting/meeting.hpp"

namespace dlaunch::worker {
namespace {

/// $DLAUNCH_HOST_ID; else the running kernel, and the namespaces that say whether processes see each other: containers
/// are hosts of their own.
std::string host_id() {
    if (const auto given = variable("DLAUNCH_HOST_ID")) return *given;
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    if (boot.empty()) boot = base::host_name();
    for (const char* kind : {"/proc/self/ns/net", "/proc/self/ns/pid"}) {
        struct stat status {};
        boot += fmt::format("/{}", stat(kind, &status) == 0 ? status.st_ino : 0);
    }
    return boot;
}

std::string pack(const Member& member) { return fmt::format("{}\n{}\n{}", member.host_id, member.pid, member.host); }

Member unpack(const std::string& text) {
    std::istringstream lines(text);
    Member member;
    std::getline(lines, member.host_id);
    lines >> member.pid >> member.host;
    return member;
}

}  // namespace

std::vector<Member> introduce(const StoreHandle& store, int rank, int world_size, Time deadline) {
    const Time begin = Clock::now();
    const auto key = [](int r) { return "member/" + std::to_string(r); };
    store.set(key(rank), pack({host_id(), getpid(), base::host_name()}), deadline);
    std::vector<std::string> keys;
    for (int r = 0; r < world_size; ++r) keys.push_back(key(r));
    try {
        std::vector<Member> members;
        for (const std::string& text : store.multi_get(keys, deadline)) members.push_back(unpack(text));
        return members;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::timeout) throw;
        const Time soon = Clock::now() + std::chrono::seconds(5);
        std::vector<int> missing;
        for (int r = 0; r < world_size; ++r)
            if (!store.check(std::span(&keys[static_cast<std::size_t>(r)], 1), soon)) missing.push_back(r);
        if (missing.empty()) throw;
        throw Error(ErrorCode::timeout,
                    fmt::format("init_process_group: {} of {} did not join within {}", list_ranks(missing), world_size,
                                describe(Clock::now() - begin)),
                    missing, {"init_process_group", 0, ""});
    }
}

}  // namespace dlaunch::worker
