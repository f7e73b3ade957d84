#include "launcher/jobs/registry.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "agent/services/job_link.hpp"
#include "agent/services/socket_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dlaunch::launcher {
namespace {

namespace fs = std::filesystem;

/// Answers one request for the status.
class Agent {
public:
    explicit Agent(const std::string& temporary) {
        file_.make("", temporary);
        thread_ = std::jthread([this] {
            int connection = -1;
            while ((connection = accept(file_.fd(), nullptr, nullptr)) < 0) std::this_thread::yield();
            char request[256];
            recv(connection, request, sizeof request, 0);
            constexpr std::string_view kReply = R"({"job":"night","state":"running"})";
            send(connection, kReply.data(), kReply.size(), MSG_NOSIGNAL);
            close(connection);
        });
    }
    [[nodiscard]] const std::string& socket() const { return file_.path(); }

private:
    agent::SocketFile file_;
    std::jthread thread_;
};

class RegistryTest : public testing::Test {
protected:
    RegistryTest() {
        fs::create_directory(folder_ / "run");
        fs::create_directory(folder_ / "tmp");
        fs::create_directory(folder_ / "other");
    }

    const TemporaryFolder temporary_;
    const fs::path folder_ = temporary_.path();
    const JobPlaces places_{folder_ / "run", folder_ / "tmp"};
};

TEST(JobPlaces, are_those_of_the_environment) {
    EXPECT_EQ(places_in({}).temporary, "/tmp");
    EXPECT_EQ(places_in({}).runtime, "");
    const auto places = places_in({{"TMPDIR", "/var/tmp"}, {"XDG_RUNTIME_DIR", "/run/user/7"}});
    EXPECT_EQ(places.temporary, "/var/tmp");
    EXPECT_EQ(places.runtime, "/run/user/7");
    EXPECT_EQ(places_in({{"TMPDIR", ""}, {"XDG_RUNTIME_DIR", "relative"}}).runtime, "");
}

TEST_F(RegistryTest, a_job_is_found_by_its_folder) {
    const Agent agent(folder_ / "tmp");
    const auto found = find_processes(places_);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].job, "night");
}

TEST_F(RegistryTest, a_job_with_another_temporary_folder_is_found_by_its_link) {
    const Agent agent(folder_ / "other");
    agent::JobLink link;
    link.make(folder_ / "run", agent.socket());
    EXPECT_EQ(find_processes(places_).size(), 1u);
}

TEST_F(RegistryTest, a_job_in_both_places_is_found_once) {
    const Agent agent(folder_ / "tmp");
    agent::JobLink link;
    link.make(folder_ / "run", agent.socket());
    EXPECT_EQ(find_processes(places_).size(), 1u);
}

TEST_F(RegistryTest, what_a_killed_job_has_left_is_not_shown_and_its_link_goes) {
    fs::create_directory(folder_ / "run/dlaunch");
    fs::create_symlink(folder_ / "gone/socket", folder_ / "run/dlaunch/dlaunch_aaaaaa");
    agent::SocketFile file;
    file.make("", folder_ / "tmp");
    shutdown(file.fd(), SHUT_RDWR);  // as after the death of the process: connections are refused
    fs::create_symlink(file.path(), folder_ / "run/dlaunch/dlaunch_bbbbbb");
    EXPECT_TRUE(find_processes(places_).empty());
    EXPECT_TRUE(fs::is_empty(folder_ / "run/dlaunch"));
}

TEST_F(RegistryTest, other_things_in_these_folders_do_no_harm) {
    fs::create_directory(folder_ / "tmp/dlaunch_backup");
    fs::create_directory_symlink(folder_ / "tmp/dlaunch_backup", folder_ / "tmp/dlaunch_linked");
    EXPECT_TRUE(find_processes(places_).empty());
    EXPECT_TRUE(find_processes({folder_ / "none", folder_ / "none"}).empty());
}

}  // namespace
}  // namespace dlaunch::launcher
