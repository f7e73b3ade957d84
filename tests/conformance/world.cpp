#include "tests/conformance/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace dlaunch::conformance {
namespace {

InitOptions joining;  // of the rank that this process is

std::string name_list(const std::vector<int>& ranks) {
    std::string text;
    for (const int rank : ranks) text += " " + std::to_string(rank);
    return text;
}

/// A temporary file, removed by the destructor.
struct TemporaryFile {
    std::string path = testing::TempDir() + "dlaunch-world-XXXXXX";
    TemporaryFile() { close(mkstemp(path.data())); }
    ~TemporaryFile() { unlink(path.c_str()); }
};

}  // namespace

InitOptions init_options() { return joining; }

void use_fake_gpus(int rank) {
    // Keep a value that the test has set.
    setenv("DLAUNCH_CUDA_LIBRARY", DLAUNCH_FAKE_NCCL, 0);
    setenv("DLAUNCH_NCCL_LIBRARY", DLAUNCH_FAKE_NCCL, 0);
    setenv("LOCAL_RANK", std::to_string(rank).c_str(), 0);
}

namespace {

Error expect_one_of(std::initializer_list<ErrorCode> codes, const std::function<void()>& call) {
    const char* const expected = dlaunch::name_of(*codes.begin());
    try {
        call();
    } catch (const Error& error) {
        check(std::find(codes.begin(), codes.end(), error.code()) != codes.end(),
              std::string("expected ") + expected + ", got " + dlaunch::name_of(error.code()) + ": " + error.what());
        return error;
    }
    throw std::logic_error(std::string("no error, expected ") + expected);
}

}  // namespace

Error expect_error(ErrorCode code, const std::function<void()>& call) { return expect_one_of({code}, call); }

Error expect_ended(ErrorCode code, const std::function<void()>& call) {
    return expect_one_of({code, ErrorCode::aborted}, call);
}

Error expect_error(ErrorCode code, const std::set<int>& ranks, const std::function<void()>& call) {
    Error error = expect_error(code, call);
    check(std::set<int>(error.ranks().begin(), error.ranks().end()) == ranks,
          "the error names the ranks" + name_list(error.ranks()) + ": " + error.what());
    for (const int rank : ranks)
        check(std::string(error.what()).find(std::to_string(rank)) != std::string::npos,
              std::string("the text names other ranks: ") + error.what());
    return error;
}

ProcessError expect_failure(const std::function<void(int)>& work, int processes, const SpawnOptions& options) {
    try {
        spawn(work, processes, options);
    } catch (const ProcessError& error) {
        return error;
    }
    throw std::logic_error("no process failed");
}

void run_world(int ranks, const WorldOptions& options, const Body& body) {
    const TemporaryFile file;
    std::vector<Process> processes;
    std::vector<int> started;
    for (int rank = 0; rank < ranks; ++rank) {
        if (options.absent.contains(rank)) continue;
        started.push_back(rank);
        processes.emplace_back(
            [&, rank] {
                if (options.backend == kTwoHosts) setenv("DLAUNCH_HOST_ID", rank / 2 % 2 == 0 ? "a" : "b", 1);
                joining = {.backend = options.backend == kTwoHosts ? "auto" : options.backend,
                           .init_method = "file://" + file.path,
                           .rank = rank,
                           .world_size = ranks,
                           .timeout = options.timeout};
                if (options.backend == "nccl" || options.gpus) use_fake_gpus(rank);
                if (!options.joins) return body(ProcessGroup());
                init_process_group(joining);
                body(default_group());
                destroy_process_group();
            },
            rank, SpawnOptions{.daemon = true});
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    for (std::size_t i = 0; i < processes.size(); ++i) {
        const int rank = started[i];
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        if (!processes[i].join(std::max(left, std::chrono::milliseconds(0)))) {
            ADD_FAILURE() << "rank " << rank << " hangs";
            continue;
        }
        const int code = *processes[i].exit_code();
        if (options.dead.contains(rank))
            EXPECT_EQ(code, -SIGKILL) << "rank " << rank << ": " << processes[i].error();
        else
            EXPECT_EQ(code, 0) << "rank " << rank << ": " << processes[i].error();
    }
}

void await_all(const ProcessGroup& world) {
    Store store = world.store();
    std::vector<std::string> all;
    for (int r = 0; r < world.size(); ++r) all.push_back("rank " + std::to_string(r) + " came");
    store.set(all[static_cast<std::size_t>(world.rank())], "yes");
    store.wait(all);
}

std::vector<Case> cases(std::initializer_list<int> sizes, bool nccl) {
    std::vector<Case> all;
    for (const int ranks : sizes)
        if (nccl && ranks <= 3) all.push_back({"nccl", ranks});
    for (const char* backend : {"shm", "auto", "tcp", "gloo", "hosts"}) {
        if (!DLAUNCH_HAS_GLOO && backend == std::string("gloo")) continue;
        for (const int ranks : sizes) {
            if (backend == kTwoHosts && ranks < 3) continue;  // rank 2 is the first on the second host
            // With sanitizers larger groups take minutes, and auto on one host is shm.
            if (DLAUNCH_SANITIZED && (backend == std::string("auto") || (backend != std::string("shm") && ranks > 3)))
                continue;
            all.push_back({backend, ranks});
        }
    }
    return all;
}

void PrintTo(const Case& parameter, std::ostream* out) { *out << parameter.ranks << " ranks, " << parameter.backend; }

std::string name_of(const testing::TestParamInfo<Case>& info) {
    return info.param.backend + "_" + std::to_string(info.param.ranks);
}

}  // namespace dlaunch::conformance
