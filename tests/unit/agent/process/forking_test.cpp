#include "agent/process/forking.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "rendezvous/base/pass_descriptors.hpp"

namespace dlaunch::agent {
namespace {

using Kind = wire::ForkMessage::Kind;

class ForkingTest : public testing::Test {
protected:
    ForkingTest() {
        int pair[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        theirs_.reset(pair[1]);
        SpawnRequest request;
        request.variables = {"A=1", "B=two words"};
        auto place = Forking::place(request);
        EXPECT_TRUE(place.has_value());
        forking_.emplace(base::UniqueFd(pair[0]), std::move(*place));
    }

    void send(Kind kind, int value) const {
        const wire::ForkMessage message{kind, value};
        EXPECT_EQ(::send(theirs_.get(), &message, sizeof message, 0), static_cast<ssize_t>(sizeof message));
    }

    base::UniqueFd theirs_;
    std::optional<Forking> forking_;
};

TEST_F(ForkingTest, a_worker_is_made_gets_its_files_and_runs) {
    EXPECT_TRUE(std::holds_alternative<Forking::Nothing>(forking_->step()));
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    send(Kind::made, child);
    auto step = forking_->step();
    const auto* made = std::get_if<Forking::Made>(&step);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->pid, child);
    EXPECT_TRUE(made->pidfd);
    std::array<base::UniqueFd, wire::kForkFiles> files;
    ASSERT_EQ(base::receive_descriptors(theirs_.get(), files), base::Passed::all);
    char text[100] = {};
    EXPECT_EQ(pread(files[wire::kForkVariables].get(), text, sizeof text, 0), 16);
    EXPECT_STREQ(text, "A=1");
    EXPECT_STREQ(text + 4, "B=two words");
    send(Kind::runs, 0);
    EXPECT_TRUE(std::holds_alternative<Forking::Runs>(forking_->step()));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST_F(ForkingTest, a_worker_that_is_dead_already_is_still_made) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
    send(Kind::made, child);
    theirs_.reset();
    auto step = forking_->step();
    EXPECT_TRUE(std::holds_alternative<Forking::Made>(step)) << "its end is its own";
    EXPECT_TRUE(std::holds_alternative<Forking::Silence>(forking_->step()));
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(ForkingTest, the_failed_step_is_reported) {
    send(Kind::cannot, EAGAIN);
    auto step = forking_->step();
    const auto* error = std::get_if<SpawnError>(&step);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->text(), "fork: Resource temporarily unavailable");
    EXPECT_FALSE(error->permanent) << "another try may end otherwise";
}

TEST_F(ForkingTest, a_kill_before_its_pid_is_known_is_reported) {
    send(Kind::killed, SIGKILL);
    auto step = forking_->step();
    const auto* killed = std::get_if<Forking::Killed>(&step);
    ASSERT_TRUE(killed);
    EXPECT_EQ(killed->signal, SIGKILL);
}

TEST_F(ForkingTest, end_of_file_and_invalid_messages_are_silence) {
    send(Kind::made, 1);
    EXPECT_TRUE(std::holds_alternative<Forking::Silence>(forking_->step()));
    theirs_.reset();
    EXPECT_TRUE(std::holds_alternative<Forking::Silence>(forking_->step()));
}

}  // namespace
}  // namespace dlaunch::agent
