#include "worker_lib/src/bootstrap/environment.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include <dlaunch/error.hpp>

namespace dlaunch::worker {
namespace {

int parse(const char* name, const std::string& text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("init_process_group: {} is '{}', expected a number", name, text));
    return value;
}

}  // namespace

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    if (!value || !*value) return std::nullopt;
    return value;
}

std::optional<int> integer_variable(const char* name) {
    const auto text = variable(name);
    if (!text) return std::nullopt;
    return parse(name, *text);
}

std::string needed_variable(const char* name) {
    auto text = variable(name);
    if (text) return *text;
    if (variable("DLAUNCH_FORK_POINT"))
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("init_process_group: {} is not set before fork_point(), which --start-method=fork needs "
                        "the program to call first",
                        name));
    throw Error(ErrorCode::invalid_argument,
                fmt::format("init_process_group: {} is not set; start the program with a launcher, as in "
                            "`dlaunch --nproc-per-node=4 {}`, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT",
                            name, program_invocation_short_name));
}

int needed_integer_variable(const char* name) { return parse(name, needed_variable(name)); }

}  // namespace dlaunch::worker
