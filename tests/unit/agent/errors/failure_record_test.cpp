#include "agent/errors/failure_record.hpp"

#include <gtest/gtest.h>

#include "agent/errors/report.hpp"

namespace dlaunch::agent {
namespace {

Failure segfault() {
    Failure failure;
    failure.rank = 3, failure.local_rank = 1, failure.node_rank = 1;
    failure.host = "node2";
    failure.pid = 4711;
    failure.how = ExitKind::signalled;
    failure.signal = 11;
    failure.core_dumped = true;
    failure.out_of_memory = OutOfMemory::likely;
    failure.round = 2;
    failure.after = std::chrono::duration<double>(12.3);
    failure.when = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
    failure.record = ErrorRecord{"ValueError: it broke", "a stack", "{}"};
    failure.usage = {2048, 1.5, 0.25};
    failure.stderr_tail = {"one", "two \xff"};
    failure.stderr_file = "/tmp/x/stderr.log";
    failure.log_folder = "x/latest/attempt_0/1";
    return failure;
}

TEST(FailureRecord, another_node_prints_the_same_report) {
    const auto there = unpack_failures(pack_failures({segfault(), segfault()}, 100'000));
    ASSERT_TRUE(there);
    ASSERT_EQ(there->size(), 2U);
    JobResult here_end, there_end;
    here_end.exit_status = there_end.exit_status = 139;
    here_end.failures = {segfault()};
    here_end.failures[0].stderr_tail[1] = "two \\xff";
    there_end.failures = {there->front()};
    EXPECT_EQ(text_report(there_end), text_report(here_end));
    EXPECT_EQ(json_report(there_end), json_report(here_end));
}

TEST(FailureRecord, stays_below_its_limit) {
    Failure failure = segfault();
    failure.record->raw.assign(5'000, 'x');
    failure.stderr_tail.assign(20, std::string(1'000, 'y'));
    for (std::size_t limit : {40'000UL, 22'000UL, 2'000UL, 700UL, 10UL}) {
        const std::string text = pack_failures({failure, failure, failure}, limit);
        EXPECT_LE(text.size(), limit);
        EXPECT_TRUE(unpack_failures(text));
    }
}

TEST(FailureRecord, anything_else_is_refused) {
    for (const char* text : {"", "{", "{}x", "[1]", "[{}]", "[{\"rank\":\"x\"}]"})
        EXPECT_FALSE(unpack_failures(text)) << text;
}

/// Other nodes send the numbers. Out-of-range numbers would overflow on their way into the report.
TEST(FailureRecord, impossible_numbers_are_refused) {
    const std::string text = pack_failures({segfault()}, 100'000);
    const auto with = [&](const std::string& key, const std::string& number) {
        const std::size_t at = text.find("\"" + key + "\":") + key.size() + 3;
        return text.substr(0, at) + number + text.substr(text.find_first_of(",}", at));
    };
    EXPECT_TRUE(unpack_failures(with("pid", "2147483647")));
    EXPECT_TRUE(unpack_failures(with("when_ms", "9223372036854")));
    EXPECT_FALSE(unpack_failures(with("when_ms", "9223372036855")));
    for (const char* key : {"rank", "pid", "how", "code", "signal", "out_of_memory", "round", "when_ms"})
        for (const char* number : {"-1", "1e20", "9223372036854775807", "18446744073709551616", "null", "1.5"})
            EXPECT_FALSE(unpack_failures(with(key, number))) << key << " " << number;
    for (const char* number : {"-1", "1e20", "null"}) EXPECT_FALSE(unpack_failures(with("after", number))) << number;
}

TEST(FailureRecord, failures_are_alike_whatever_their_pid_and_time) {
    Failure other = segfault();
    other.pid = 1;
    other.after *= 2;
    EXPECT_EQ(kind_of(other), kind_of(segfault()));
    other.signal = 9;
    EXPECT_NE(kind_of(other), kind_of(segfault()));
}

}  // namespace
}  // namespace dlaunch::agent
