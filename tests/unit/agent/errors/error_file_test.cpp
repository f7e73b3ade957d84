#include "agent/errors/error_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

namespace dlaunch::agent {
namespace {

using nlohmann::json;

TEST(ParseErrorFile, TakesTorchsRecord) {
    for (const char* timestamp : {"\"1700000000\"", "1700000000"}) {
        const std::string text =
            R"({"message":{"message":"ValueError: it broke","extraInfo":{"py_callstack":"Trace\n  in f\n","timestamp":)" +
            std::string(timestamp) + "}}}";
        const auto record = parse_error_file(text);
        ASSERT_TRUE(record);
        EXPECT_EQ(record->message, "ValueError: it broke");
        EXPECT_EQ(record->callstack, "Trace\n  in f\n");
        EXPECT_EQ(record->raw, text);
    }
}

TEST(ParseErrorFile, TakesPlainTexts) {
    for (const char* text : {R"({"message":"it broke","timestamp":12})", R"({"message":"it broke","timestamp":"12"})",
                             R"( {"message" : "it broke"} )"}) {
        const auto record = parse_error_file(text);
        ASSERT_TRUE(record) << text;
        EXPECT_EQ(record->message, "it broke");
        EXPECT_EQ(record->callstack, "");
    }
}

TEST(ParseErrorFile, NeedsNoCallstack) {
    EXPECT_EQ(parse_error_file(R"({"message":{"message":"m"}})")->message, "m");
    EXPECT_EQ(parse_error_file(R"({"message":{"message":"m","extraInfo":{"py_callstack":7}}})")->callstack, "");
    EXPECT_EQ(parse_error_file(R"({"message":{"message":"m","extraInfo":[]}})")->message, "m");
}

TEST(ParseErrorFile, TakesTheLastLineOfACallstackForTheMessage) {
    EXPECT_EQ(parse_error_file(R"({"message":{"extraInfo":{"py_callstack":"Trace\nE: x\n\n"}}})")->message, "E: x");
}

TEST(ParseErrorFile, RefusesInvalidRecords) {
    for (const char* text : {"",
                             " ",
                             "{",
                             "[]",
                             "7",
                             "null",
                             "\"message\"",
                             R"({"no":"message"})",
                             R"({"message":null})",
                             R"({"message":7})",
                             R"({"message":[]})",
                             R"({"message":""})",
                             R"({"message":{}})",
                             R"({"message":{"extraInfo":{}}})",
                             R"({"message":{"message":null}})",
                             R"({"message":"a"} b)",
                             "\xff\xfe",
                             "{\"message\":\"\xff\"}",
                             "{\"message\":\"open\\",
                             "{\"message\":\"\\u12"})
        EXPECT_FALSE(parse_error_file(text)) << text;
}

TEST(ParseErrorFile, SurvivesDepthAndSize) {
    EXPECT_FALSE(parse_error_file(std::string(3'000'000, '[')));
    std::string deep = R"({"message":"m","x":)";
    for (int i = 0; i < 100'000; ++i) deep += R"({"a":)";
    EXPECT_FALSE(parse_error_file(deep + "1" + std::string(100'001, '}')));
    const std::string large(3'000'000, 'x');
    EXPECT_EQ(parse_error_file("{\"message\":\"" + large + "\"}")->message, large);
    EXPECT_EQ(parse_error_file("{\"message\":\"" + std::string(1000, '[') + "\"}")->message, std::string(1000, '['));
}

TEST(ParseErrorFile, KeepsARecordWithPythonsUndecodableBytes) {
    EXPECT_EQ(parse_error_file(R"({"message":"no file x\udcff"})")->message, "no file x\\xff");
    EXPECT_EQ(parse_error_file(R"({"message":"half \ud83d"})")->message, "half \xEF\xBF\xBD");
    EXPECT_EQ(parse_error_file(R"({"message":"\ud83d\ude80 \\ud83d"})")->message, "\xF0\x9F\x9A\x80 \\ud83d");
}

Failure cause(std::optional<ErrorRecord> record) {
    Failure failure;
    failure.rank = 1;
    failure.host = "h";
    failure.pid = 5;
    failure.code = 9;
    failure.record = std::move(record);
    return failure;
}

TEST(AgentErrorFile, AddsTheCodeToTheWorkersRecord) {
    const char* text = R"({"message":{"message":"E: x","extraInfo":{"py_callstack":"t","timestamp":"1"}},"more":1})";
    const json mine = json::parse(agent_error_file(cause(parse_error_file(text))));
    json expected = json::parse(text);
    expected["message"]["errorCode"] = 9;
    EXPECT_EQ(mine, expected);
}

TEST(AgentErrorFile, WritesASignalAsANegativeCode) {
    Failure failure = cause(parse_error_file(R"({"message":{"message":"E"}})"));
    failure.how = ExitKind::signalled;
    failure.signal = SIGSEGV;
    EXPECT_EQ(json::parse(agent_error_file(failure))["message"]["errorCode"], -11);
}

TEST(AgentErrorFile, LeavesATextAlone) {
    EXPECT_EQ(json::parse(agent_error_file(cause(parse_error_file(R"({"message":"t","timestamp":1})")))),
              json::parse(R"({"message":"t","timestamp":1})"));
}

TEST(AgentErrorFile, IsMadeFromTheSummaryWhenThereIsNoRecord) {
    Failure failure = cause(std::nullopt);
    failure.when = std::chrono::system_clock::time_point(std::chrono::seconds(1700000000));
    failure.stderr_tail = {"the very", "last \xff words"};
    const std::string text = agent_error_file(failure);
    const json mine = json::parse(text);
    EXPECT_EQ(mine["message"]["message"], "rank 1 (h, pid 5) exited with 9 after 0 ms");
    EXPECT_EQ(mine["message"]["errorCode"], 9);
    EXPECT_EQ(mine["message"]["extraInfo"]["py_callstack"], "the very\nlast \\xff words\n");
    EXPECT_EQ(mine["message"]["extraInfo"]["timestamp"], "1700000000");
    EXPECT_TRUE(parse_error_file(text)) << "what we write must be a record to those above us";
}

}  // namespace
}  // namespace dlaunch::agent
