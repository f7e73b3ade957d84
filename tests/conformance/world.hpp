#pragma once
/// Worlds of forked processes, for tests of calls between ranks.
///
/// The ranks are forked children of the single-threaded test and rendezvous through a file. An exception of a rank
/// fails the test with the exception's text.

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <stdexcept>
#include <string>

#include <dlaunch/dlaunch.hpp>

namespace dlaunch::conformance {

/// Pseudo backend: auto on two simulated hosts. Ranks alternate in pairs: 0 and 1 are on the first host, 2 and 3 on the
/// second, 4 on the first again.
inline const std::string kTwoHosts = "hosts";

struct WorldOptions {
    std::string backend = "shm";  ///< or kTwoHosts
    std::chrono::milliseconds timeout = std::chrono::seconds(60);
    std::set<int> dead = {};    ///< ranks that the test kills
    std::set<int> absent = {};  ///< ranks that are never started
    bool gpus = false;          ///< provide fake GPUs; implied by the backend nccl
    bool joins = true;          ///< pass a group to the body; false: the body joins with init_options()
};

using Body = std::function<void(const ProcessGroup& world)>;

/// Runs `body` in one process per rank and waits for all.
void run_world(int ranks, const WorldOptions& options, const Body& body);

/// In a rank of a world with joins = false: the options to join with.
[[nodiscard]] InitOptions init_options();

/// In a rank: loads the fake NCCL and CUDA libraries, with one GPU per rank.
void use_fake_gpus(int rank);

/// In a rank, once per world: waits through the store until all ranks have come here. A rank that returns from a
/// collective and ends the group could otherwise end the same collective on a rank that has not returned yet.
void await_all(const ProcessGroup& world);

/// In a rank: fails the test with this text unless `condition` holds.
inline void check(bool condition, const char* what) {
    if (!condition) throw std::logic_error(what);
}
inline void check(bool condition, const std::string& what) { check(condition, what.c_str()); }

/// In a rank: `call` must throw an Error of this code that names these ranks; returns it.
Error expect_error(ErrorCode code, const std::set<int>& ranks, const std::function<void()>& call);
/// The same with any ranks.
Error expect_error(ErrorCode code, const std::function<void()>& call);
/// `call` is ended by another rank: Error with this code if the call was pending at that time, `aborted` if it came
/// later.
Error expect_ended(ErrorCode code, const std::function<void()>& call);

/// Spawns processes of which at least one must fail; returns the first failure.
ProcessError expect_failure(const std::function<void(int rank)>& work, int processes, const SpawnOptions& options = {});

/// All combinations of backends and world sizes.
struct Case {
    std::string backend;
    int ranks;
};
class Everywhere : public testing::TestWithParam<Case> {
protected:
    void run(const Body& body) const { run_world(GetParam().ranks, WorldOptions{.backend = GetParam().backend}, body); }
};
/// `nccl`: include the nccl backend with the fake library.
[[nodiscard]] std::vector<Case> cases(std::initializer_list<int> sizes, bool nccl = false);
[[nodiscard]] std::string name_of(const testing::TestParamInfo<Case>& info);
void PrintTo(const Case& parameter, std::ostream* out);  // NOLINT(readability-identifier-naming): GoogleTest's

}  // namespace dlaunch::conformance
