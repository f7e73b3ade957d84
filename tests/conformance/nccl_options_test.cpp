/// NcclOptions: what NCCL gets of a group's options.

#include "tests/conformance/fake_gpu.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

/// The fake's "version size cga min max net share class" of the last communicator in this process.
void expect_config(const std::string& expected) {
    void* const library = dlopen(DLAUNCH_FAKE_NCCL, RTLD_NOW | RTLD_LOCAL);
    const auto last = reinterpret_cast<const char* (*)()>(dlsym(library, "fake_last_config"));
    const std::string seen = last();
    dlclose(library);
    check(seen == expected, "not " + expected + ": " + seen);
}

TEST(NcclOptionsTest, unset_ones_are_left_to_nccl) {
    run_world(2, {.backend = "nccl"}, [](const ProcessGroup& world) {
        expect_config("21400 24 - - - - - -");
        (void)world.new_group({1, 0}, {.nccl = {.max_ctas = 4}});
        expect_config("21700 40 - - 4 - - -");
        (void)world.new_group({1, 0}, {.nccl = {.split_share = false}});
        expect_config("21800 48 - - - - 0 -");
        (void)world.new_group({1, 0}, {.nccl = {.traffic_class = 105}});
        expect_config("22500 48 - - - - - 105");
    });
}

TEST(NcclOptionsTest, a_group_inherits_the_worlds) {
    run_world(2, {.backend = "nccl", .joins = false}, [](const ProcessGroup&) {
        InitOptions options = init_options();
        options.nccl = {.min_ctas = 2, .max_ctas = 8, .net_name = "IB", .split_share = true};
        const ProcessGroup world = join_process_group(options);
        expect_config("21800 48 - 2 8 IB 1 -");
        const ProcessGroup part = world.new_group({1, 0}, {.nccl = {.max_ctas = 16, .cga_cluster_size = 2}});
        expect_config("21800 48 2 2 16 IB 1 -");
        OneFloat one;
        part.all_reduce(one.buffer.span());
        check(one.value() == 2, "a sum");
    });
}

TEST(NcclOptionsTest, one_that_an_older_library_lacks_is_refused_on_all_ranks) {
    run_world(2, {.backend = "nccl", .joins = false}, [](const ProcessGroup&) {
        setenv("FAKE_NCCL_VERSION", "21800", 1);
        const ProcessGroup world = join_process_group(init_options());
        const Error error = expect_error(ErrorCode::invalid_argument, [&] {
            (void)world.new_group({0, 1}, {.nccl = {.traffic_class = 1}});
        });
        check(std::string(error.what()).find("the option traffic_class needs NCCL 2.25.0, and 2.18.0 is loaded") !=
                  std::string::npos,
              error.what());
        OneFloat one;
        world.all_reduce(one.buffer.span());
        check(one.value() == 2, "the parent goes on");
        world.new_group({0, 1}, {.nccl = {.split_share = true}}).barrier();
    });
}

TEST(NcclOptionsTest, the_world_refuses_one_at_once) {
    run_world(2, {.backend = "nccl", .joins = false}, [](const ProcessGroup&) {
        setenv("FAKE_NCCL_VERSION", "21600", 1);
        InitOptions options = init_options();
        options.nccl.max_ctas = 3;
        expect_error(ErrorCode::invalid_argument, [&] { (void)join_process_group(options); });
    });
}

TEST(NcclOptionsTest, values_are_nccls_to_judge) {
    run_world(2, {.backend = "nccl", .joins = false}, [](const ProcessGroup&) {
        InitOptions options = init_options();
        options.nccl.max_ctas = 0;
        expect_error(ErrorCode::backend, [&] { (void)join_process_group(options); });
    });
}

TEST(NcclOptionsTest, other_backends_ignore_them) {
    run_world(2, {}, [](const ProcessGroup& world) {
        world.new_group({0, 1}, {.nccl = {.traffic_class = 7}}).barrier();
    });
}

}  // namespace
}  // namespace dlaunch::conformance
