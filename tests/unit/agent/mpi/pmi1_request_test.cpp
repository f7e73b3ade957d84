#include "agent/mpi/pmi1_request.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

TEST(Pmi1Request, words_are_found_in_any_order) {
    const auto request = Pmi1Request::parse("  value=a=b=  cmd=put key=k extra=");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->command(), "put");
    EXPECT_EQ(request->value("value"), "a=b=");
    EXPECT_EQ(request->value("key"), "k");
    EXPECT_EQ(request->value("extra"), "");
    EXPECT_EQ(request->value("none"), std::nullopt);
}

TEST(Pmi1Request, the_first_cmd_counts) {
    EXPECT_EQ(Pmi1Request::parse("cmd=put key=k value=cmd=finalize")->command(), "put");
    EXPECT_EQ(Pmi1Request::parse("mcmd=spawn")->command(), "mcmd");
}

TEST(Pmi1Request, other_lines_are_refused) {
    for (const char* line : {"", "   ", "====", "key=value", "GET / HTTP/1.1", "cmd=get key", "=cmd"})
        EXPECT_FALSE(Pmi1Request::parse(line)) << line;
}

TEST(Pmi1Request, names_may_have_blanks) {
    const auto request = Pmi1Request::parse("cmd=publish_name service=my  first service port=a b ");
    EXPECT_EQ(request->value("service"), "my  first service");
    EXPECT_EQ(request->value("port"), "a b");
    EXPECT_FALSE(Pmi1Request::parse("other cmd=publish_name service=s"));
}

TEST(Pmi1Request, the_message_of_an_abort_is_free_text) {
    EXPECT_EQ(Pmi1Request::parse("cmd=abort exitcode=3 message=it is broken")->value("exitcode"), "3");
}

TEST(Pmi1Number, is_all_of_the_text) {
    EXPECT_EQ(pmi1_number("-1"), -1);
    EXPECT_EQ(pmi1_number("7"), 7);
    for (const char* text : {"", "7x", "x", "99999999999", " 7"}) EXPECT_EQ(pmi1_number(text), std::nullopt) << text;
    EXPECT_EQ(pmi1_number(std::nullopt), std::nullopt);
}

}  // namespace
}  // namespace dlaunch::agent
