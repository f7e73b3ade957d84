#pragma once
/// Worlds of forked processes, for tests of what ranks do together.
///
/// The ranks are children of the test, which has no threads of its own; they meet through a file. What a rank throws is
/// the test's failure, with the rank's words.

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <stdexcept>
#include <string>

#include <dlaunch/dlaunch.hpp>

namespace dlaunch::conformance {

/// As a backend: auto, on two hosts that share this machine. The ranks take turns by two: 0 and 1 are on the first
/// host, 2 and 3 on the second, 4 on the first again.
inline const std::string kTwoHosts = "hosts";

struct WorldOptions {
    std::string backend = "shm";  ///< or kTwoHosts
    std::chrono::milliseconds timeout = std::chrono::seconds(60);
    std::set<int> dead = {};    ///< ranks that are meant to be killed
    std::set<int> absent = {};  ///< ranks that are never started
    bool gpus = false;          ///< whether there are any; with the backend nccl in any case
    bool joins = true;          ///< whether the body is given a group, or makes its own with init_options()
};

using Body = std::function<void(const ProcessGroup& world)>;

/// Runs `body` as each of `ranks` ranks and waits for all.
void run_world(int ranks, const WorldOptions& options, const Body& body);

/// In a rank: how it would join, where run_world() does not.
[[nodiscard]] InitOptions init_options();

/// In a rank: loads a library that plays NCCL and the GPUs, a GPU for each rank.
void use_fake_gpus(int rank);

/// In a rank: fails the test with this text unless `condition` holds.
inline void check(bool condition, const char* what) {
    if (!condition) throw std::logic_error(what);
}
inline void check(bool condition, const std::string& what) { check(condition, what.c_str()); }

/// In a rank: `call` must throw an Error of this code that names these ranks; returns it.
Error expect_error(ErrorCode code, const std::set<int>& ranks, const std::function<void()>& call);
/// The same, whoever is named.
Error expect_error(ErrorCode code, const std::function<void()>& call);
/// What another rank ends: of this code where the call was under way then, `aborted` where it came later.
Error expect_ended(ErrorCode code, const std::function<void()>& call);

/// Spawns processes of which one must fail: how the first did.
ProcessError expect_failure(const std::function<void(int rank)>& work, int processes, const SpawnOptions& options = {});

/// Each of backends x world sizes.
struct Case {
    std::string backend;
    int ranks;
};
class Everywhere : public testing::TestWithParam<Case> {
protected:
    void run(const Body& body) const { run_world(GetParam().ranks, WorldOptions{.backend = GetParam().backend}, body); }
};
/// `nccl`: on a fake library, too.
[[nodiscard]] std::vector<Case> cases(std::initializer_list<int> sizes, bool nccl = false);
[[nodiscard]] std::string name_of(const testing::TestParamInfo<Case>& info);
void PrintTo(const Case& parameter, std::ostream* out);  // NOLINT(readability-identifier-naming): GoogleTest's

}  // namespace dlaunch::conformance
