/// Missing and invalid launcher variables: the error names the variable.

#include <cstdlib>

#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

/// Runs in a child process; its environment has only the given launcher variables.
void with_variables(const std::vector<std::pair<const char*, const char*>>& variables,
                    const std::function<void()>& body) {
    run_world(1, WorldOptions{.joins = false}, [&](const ProcessGroup&) {
        for (const char* name :
             {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE", "DLAUNCH_BACKEND"})
            unsetenv(name);
        for (const auto& [name, value] : variables) setenv(name, value, 1);
        body();
    });
}

void expect_text(const std::string& text, const InitOptions& options = {}) {
    const Error error = expect_error(ErrorCode::invalid_argument, [&] { init_process_group(options); });
    check(std::string(error.what()).find(text) != std::string::npos,
          std::string("expected '") + text + "' in: " + error.what());
}

TEST(EnvironmentTest, missing_variable_is_named_with_the_way_to_start) {
    with_variables({}, [] {
        expect_text("RANK is not set");
        expect_text("dlaunch --nproc-per-node=4");
    });
    with_variables({{"RANK", "0"}}, [] { expect_text("WORLD_SIZE is not set"); });
    with_variables({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, [] { expect_text("MASTER_ADDR is not set"); });
    with_variables({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "127.0.0.1"}},
                   [] { expect_text("MASTER_PORT is not set"); });
}

TEST(EnvironmentTest, invalid_values_are_refused) {
    with_variables({{"RANK", "one"}, {"WORLD_SIZE", "2"}}, [] { expect_text("RANK is 'one'"); });
    with_variables({{"RANK", "2"}, {"WORLD_SIZE", "2"}}, [] { expect_text("rank 2 of a world of 2"); });
    for (const char* port : {"0", "-1", "65536", "99999"})
        with_variables({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}},
                       [&] { expect_text(std::string("MASTER_PORT is ") + port); });
    with_variables({}, [] {
        expect_text("init_method is 'tcp://somewhere'", {.init_method = "tcp://somewhere", .rank = 0, .world_size = 1});
        expect_text("init_method is 'mpi'", {.init_method = "mpi", .rank = 0, .world_size = 1});
        expect_error(ErrorCode::invalid_argument, [] { (void)default_group(); });
    });
}

TEST(EnvironmentTest, unknown_backend_is_refused) {
    run_world(1, WorldOptions{.joins = false}, [](const ProcessGroup&) {
        InitOptions options = init_options();
        options.backend = "mpi";
        expect_text("'mpi' is unknown", options);
    });
}

}  // namespace
}  // namespace dlaunch::conformance
