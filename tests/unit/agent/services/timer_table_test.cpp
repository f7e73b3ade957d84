#include "agent/services/timer_table.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kWall = std::chrono::system_clock::time_point(1'700'000'000s);
constexpr TimerTable::Time kNow(1000s);

std::string request(int pid, const std::string& scope, double seconds_from_now, int signal = SIGKILL) {
    const double expiration = seconds_from_now < 0 ? -1 : 1'700'000'000 + seconds_from_now;
    return R"({"version":1,"pid":)" + std::to_string(pid) + R"(,"scope_id":")" + scope + R"(","expiration_time":)" +
           std::to_string(expiration) + R"(,"signal":)" + std::to_string(signal) + "}\n";
}

class TimerTableTest : public testing::Test {
protected:
    void feed(std::string_view bytes) { table_.feed(writer_, bytes, kWall, kNow); }

    /// "pid/scope/signal" of the timers due after so many seconds.
    std::vector<std::string> due(std::chrono::seconds from_now, pid_t dead = 0) {
        std::vector<std::string> text;
        for (const ExpiredTimer& timer : table_.expired(kNow + from_now, [&](pid_t pid) { return pid != dead; }))
            text.push_back(std::to_string(timer.pid) + "/" + timer.scope + "/" + std::to_string(timer.signal));
        return text;
    }
    using Due = std::vector<std::string>;
    TimerTable table_;
    TimerTable::Writer writer_;
};

TEST_F(TimerTableTest, ReportsAPassedDeadlineOnce) {
    EXPECT_EQ(table_.next_deadline(), std::nullopt);
    feed(request(7, "step", 10, SIGTERM));
    ASSERT_TRUE(table_.next_deadline());
    EXPECT_NEAR(std::chrono::duration<double>(*table_.next_deadline() - kNow).count(), 10, 1e-3);
    EXPECT_EQ(due(9s), Due{});
    EXPECT_EQ(due(11s), (Due{"7/step/15"}));
    EXPECT_EQ(due(12s), Due{}) << "reported once";
}

TEST_F(TimerTableTest, ReleasesOnlyTheScopeThatIsNamed) {
    feed(request(7, "a", 10) + request(7, "b", 20) + request(8, "a", 30) + request(7, "a", -1));
    EXPECT_EQ(table_.size(), 2U);
    EXPECT_EQ(due(15s), Due{});
    EXPECT_EQ(due(25s), (Due{"7/b/9"}));
    EXPECT_EQ(due(35s), (Due{"8/a/9"}));
}

TEST_F(TimerTableTest, MovesADeadline) {
    feed(request(7, "a", 10) + request(7, "a", 20));
    EXPECT_EQ(due(15s), Due{});
    EXPECT_EQ(due(25s), (Due{"7/a/9"}));
}

TEST_F(TimerTableTest, ReportsAProcessOnceByItsEarliestDeadline) {
    feed(request(7, "a", 20) + request(7, "b", 10) + request(7, "c", 999) + request(8, "a", 5));
    EXPECT_EQ(due(30s), (Due{"8/a/9", "7/b/9"}));
    EXPECT_EQ(table_.size(), 0U) << "other deadlines of a killed process are dropped";
}

TEST_F(TimerTableTest, DropsDeadAndForgottenProcesses) {
    feed(request(7, "a", 10) + request(8, "a", 10));
    EXPECT_EQ(due(15s, 7), (Due{"8/a/9"}));
    EXPECT_EQ(table_.size(), 0U);
    feed(request(7, "a", 10));
    table_.forget(7);
    EXPECT_EQ(table_.next_deadline(), std::nullopt);
}

TEST_F(TimerTableTest, ADeadlineThatPassedOnItsWayIsDueAtOnce) {
    table_.feed(writer_, request(7, "a", 10), kWall + 60s, kNow);
    EXPECT_EQ(due(0s), (Due{"7/a/9"}));
}

TEST_F(TimerTableTest, IsNotMovedByAClockThatIsSetLater) {
    feed(request(7, "a", 10));
    table_.feed(writer_, "\n", kWall + 3600s, kNow + 1s);
    EXPECT_EQ(due(9s), Due{});
    EXPECT_EQ(due(11s), (Due{"7/a/9"}));
}

TEST_F(TimerTableTest, TakesBytesSplitAnywhere) {
    const std::string text = request(7, "a", 10) + request(8, "b", 10);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        TimerTable table;
        TimerTable::Writer writer, another;
        table.feed(another, "{", kWall, kNow);
        table.feed(writer, std::string_view(text).substr(0, cut), kWall, kNow);
        table.feed(another, "}", kWall, kNow);
        table.feed(writer, std::string_view(text).substr(cut), kWall, kNow);
        EXPECT_EQ(table.size(), 2U) << cut;
    }
}

TEST_F(TimerTableTest, SurvivesGarbage) {
    for (const char* line :
         {"", "{", "[]", "7", "null", "\xff\xfe", "{}", R"({"pid":7})", R"({"pid":"7","expiration_time":1e10})",
          R"({"pid":0,"expiration_time":1e10})", R"({"pid":-1,"expiration_time":1e10})",
          R"({"pid":99999999999,"expiration_time":1e10})", R"({"pid":7.5,"expiration_time":1e10})",
          R"({"pid":7,"expiration_time":"soon"})", R"({"pid":7,"expiration_time":1e999})"}) {
        feed(std::string(line) + "\n");
        EXPECT_EQ(table_.size(), 0U) << line;
    }
    feed(request(7, "a", 10));
    EXPECT_EQ(table_.size(), 1U);
}

TEST_F(TimerTableTest, SkipsALineThatIsTooLong) {
    const std::string lengthy(100'000, 'x');
    feed(lengthy);
    feed(lengthy + request(6, "lost with it", 10) + request(7, "a", 10));
    EXPECT_EQ(due(20s), (Due{"7/a/9"}));
    feed(request(8, std::string(5000, 's'), 10));
    EXPECT_EQ(table_.size(), 0U);
}

TEST_F(TimerTableTest, KillsWhenTheSignalIsNone) {
    feed(request(7, "a", 10, 0) + request(8, "a", 11, 999) + R"({"pid":9,"expiration_time":1700000012})" + "\n");
    EXPECT_EQ(due(20s), (Due{"7/a/9", "8/a/9", "9//9"}));
}

TEST_F(TimerTableTest, HoldsADeadlineBeyondTheClocksRange) {
    feed(R"({"pid":7,"scope_id":"a","expiration_time":1e300})"
         "\n");
    EXPECT_EQ(due(86400s * 365), Due{});
    EXPECT_EQ(table_.size(), 1U);
}

/// Examining all of them at once would hold the loop.
TEST_F(TimerTableTest, AFloodOfDueTimersIsReportedInPieces) {
    constexpr pid_t kProcesses = 8'192;
    for (pid_t pid = 1; pid <= kProcesses; ++pid) feed(request(pid, "s", 10));
    std::size_t reported = 0, calls = 0;
    for (; table_.next_deadline(); ++calls) {
        ASSERT_LE(*table_.next_deadline(), kNow + 11s);
        std::size_t examined = 0;
        reported += table_
                        .expired(kNow + 11s,
                                 [&](pid_t pid) {
                                     ++examined;
                                     return pid % 2 == 0;
                                 })
                        .size();
        ASSERT_LE(examined, 1024U);
    }
    EXPECT_EQ(reported, kProcesses / 2U);
    EXPECT_EQ(calls, 8U);
    EXPECT_EQ(table_.size(), 0U);
}

TEST_F(TimerTableTest, ReportsAMovedDeadlineInTheNewOrder) {
    feed(request(7, "a", 10) + request(8, "a", 20) + request(7, "a", 30));
    EXPECT_EQ(due(40s), (Due{"8/a/9", "7/a/9"}));
}

TEST_F(TimerTableTest, IsBounded) {
    for (int pid = 1; pid <= 70'000; ++pid)
        feed(R"({"pid":)" + std::to_string(pid) + R"(,"expiration_time":1800000000})" + "\n");
    EXPECT_EQ(table_.size(), 65536U);
    feed(R"({"pid":1,"expiration_time":-1})"
         "\n");
    EXPECT_EQ(table_.size(), 65535U);
}

}  // namespace
}  // namespace dlaunch::agent
