#include "agent/status/events.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

namespace dlaunch::agent {
namespace {

using nlohmann::json;

class EventLogTest : public testing::Test {
protected:
    EventLogTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "dlaunch_test_XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    ~EventLogTest() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string text() const {
        std::ostringstream all;
        all << std::ifstream(path()).rdbuf();
        return all.str();
    }
    [[nodiscard]] std::string path() const { return folder_ + "/events"; }
    std::string folder_;
};

TEST_F(EventLogTest, WritesOneLineWithTheFieldsInOrder) {
    auto log = EventLog::open(path(), "job \"7\"");
    ASSERT_TRUE(log);
    log->write("worker_exited", {{"round", std::int64_t{0}},
                                 {"host", std::string_view("a\n\xFF")},
                                 {"seconds", 1.5},
                                 {"victim", true},
                                 {"bad", std::nan("")}});
    const std::regex line(
        R"(\{"event":"worker_exited","time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","monotonic":\d+\.\d{6},"job":"job \\"7\\"",)"
        R"("round":0,"host":"a\\n\\\\xff","seconds":1\.5,"victim":true,"bad":null\}\n)");
    EXPECT_TRUE(std::regex_match(text(), line)) << text();
    EXPECT_TRUE(json::accept(text()));
    EXPECT_EQ(log->take_complaint(), "");
}

TEST_F(EventLogTest, TellsMonotonicTime) {
    auto seconds = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    auto log = EventLog::open(path(), "j");
    const double before = seconds();
    log->write("e", {});
    const double told = json::parse(text())["monotonic"];
    EXPECT_GE(told, before - 1e-5);
    EXPECT_LE(told, seconds());
}

TEST_F(EventLogTest, AppendsToWhatIsThere) {
    std::ofstream(path()) << "{}\n";
    for (int i = 0; i < 2; ++i) EventLog::open(path(), "j")->write("e", {});
    const std::string all = text();
    EXPECT_TRUE(all.starts_with("{}\n{\"event\":"));
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 3);
}

TEST_F(EventLogTest, SaysWhyItCannotBeOpened) {
    const auto missing = EventLog::open(folder_ + "/no/such", "j");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().text, "event log " + folder_ + "/no/such: No such file or directory");
    EXPECT_FALSE(EventLog::open(folder_, "j"));
}

TEST_F(EventLogTest, AFifoBlocksNobody) {
    ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
    EXPECT_FALSE(EventLog::open(path(), "j")) << "nobody reads";
    const base::UniqueFd reader(::open(path().c_str(), O_RDONLY | O_NONBLOCK));
    auto log = EventLog::open(path(), "j");
    ASSERT_TRUE(log);
    const std::string large(3000, 'x');
    for (int i = 0; i < 100; ++i) log->write("e", {{"text", std::string_view(large)}});
    EXPECT_NE(log->take_complaint(), "");
}

TEST_F(EventLogTest, ComplainsOnceAboutAFullDisk) {
    auto log = EventLog::open("/dev/full", "j");
    ASSERT_TRUE(log);
    log->write("e", {});
    EXPECT_EQ(log->take_complaint(), "event log: No space left on device; some events are lost");
    log->write("e", {});
    EXPECT_EQ(log->take_complaint(), "");
}

TEST_F(EventLogTest, BeginsANewLineAfterATornOne) {
    ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
    const base::UniqueFd reader(::open(path().c_str(), O_RDONLY | O_NONBLOCK));
    auto log = EventLog::open(path(), "j");
    // More than the pipe holds: the kernel takes a part of it.
    const std::string large(200'000, 'x');
    log->write("torn", {{"text", std::string_view(large)}});
    EXPECT_EQ(log->take_complaint(), "event log: a line was cut short; some events are lost");
    std::string all(200'000, ' ');
    const ssize_t got = ::read(reader.get(), all.data(), all.size());
    ASSERT_GT(got, 0);
    ASSERT_NE(all[static_cast<std::size_t>(got) - 1], '\n');
    log->write("next", {});
    const ssize_t more = ::read(reader.get(), all.data(), all.size());
    ASSERT_GT(more, 0);
    EXPECT_TRUE(all.starts_with("\n{\"event\":\"next\"")) << all.substr(0, 40);
}

TEST(ClosedEventLog, WritesNothing) {
    EventLog log;
    log.write("e", {{"a", 1.0}});
    EXPECT_EQ(log.take_complaint(), "");
}

}  // namespace
}  // namespace dlaunch::agent
