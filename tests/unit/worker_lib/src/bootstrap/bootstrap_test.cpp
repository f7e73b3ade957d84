#include "worker_lib/src/bootstrap/bootstrap.hpp"

#include <gtest/gtest.h>

#include <dlaunch/error.hpp>

namespace dlaunch::worker {
namespace {

using Kind = InitMethod::Kind;

void expect(const std::string& text, Kind kind, const std::string& place, int port) {
    const InitMethod method = parse_init_method(text);
    EXPECT_EQ(method.kind, kind) << text;
    EXPECT_EQ(method.place, place) << text;
    EXPECT_EQ(method.port, port) << text;
}

TEST(InitMethodTest, known_methods) {
    expect("env://", Kind::env, "", 0);
    expect("", Kind::env, "", 0);
    expect("tcp://node1:29500", Kind::tcp, "node1", 29500);
    expect("tcp://10.0.0.1:1", Kind::tcp, "10.0.0.1", 1);
    expect("tcp://[fd00::1]:65535", Kind::tcp, "fd00::1", 65535);
    expect("file:///shared/rendezvous", Kind::file, "/shared/rendezvous", 0);
}

TEST(InitMethodTest, unknown_methods_are_refused_with_the_known_ones) {
    for (const std::string text :
         {"mpi://", "tcp://", "tcp://node1", "tcp://:29500", "tcp://node1:", "tcp://node1:0", "tcp://node1:65536",
          "tcp://node1:29500x", "tcp://node1:-1", "file://", "env:/", "/shared/rendezvous", "env://?"}) {
        try {
            (void)parse_init_method(text);
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            EXPECT_EQ(error.what(), "init_process_group: init_method is '" + text +
                                        "', expected env://, tcp://HOST:PORT or file:///PATH");
        }
    }
}

}  // namespace
}  // namespace dlaunch::worker
