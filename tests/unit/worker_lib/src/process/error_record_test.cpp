#include "worker_lib/src/process/error_record.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dlaunch::worker {
namespace {

TEST(ErrorRecordTest, strings_are_quoted_as_json) {
    EXPECT_EQ(json_string(""), R"("")");
    EXPECT_EQ(json_string("plain"), R"("plain")");
    EXPECT_EQ(json_string("a \"b\" \\ c\n\x01\x7f"), R"("a \"b\" \\ c\u000a\u0001\u007f")");
    EXPECT_EQ(json_string("Grüße, 世界, 🙂"), R"("Grüße, 世界, 🙂")");
}

TEST(ErrorRecordTest, invalid_utf_8_is_replaced) {
    EXPECT_EQ(json_string("a\xff\xfe"), R"("a\ufffd\ufffd")");
    EXPECT_EQ(json_string("cut \xe4\xb8"), R"("cut \ufffd\ufffd")");
    for (int first = 0; first < 256; ++first)
        for (int second = 0; second < 256; ++second) {
            const char text[] = {static_cast<char>(first), static_cast<char>(second), 'x'};
            ASSERT_TRUE(nlohmann::json::accept(json_string({text, sizeof text}))) << first << " " << second;
        }
}

TEST(ErrorRecordTest, a_record_has_torchs_format) {
    const auto record = nlohmann::json::parse(error_record("bad \"news\"", "main()\nf()", 1700000000));
    EXPECT_EQ(record["message"]["message"], "bad \"news\"");
    EXPECT_EQ(record["message"]["extraInfo"]["py_callstack"], "main()\nf()");
    EXPECT_EQ(record["message"]["extraInfo"]["timestamp"], "1700000000");
}

}  // namespace
}  // namespace dlaunch::worker
