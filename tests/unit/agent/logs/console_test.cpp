#include "agent/logs/console.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <string>

namespace dlaunch::agent {
namespace {

using std::chrono::milliseconds;

struct Ends {
    base::UniqueFd reader, writer;
};

Ends make_pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    return {base::UniqueFd(ends[0]), base::UniqueFd(ends[1])};
}

Ends make_sockets() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    return {base::UniqueFd(ends[0]), base::UniqueFd(ends[1])};
}

Ends make_terminal() {
    int ends[2];
    EXPECT_EQ(openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr), 0);
    return {base::UniqueFd(ends[0]), base::UniqueFd(ends[1])};
}

/// The bytes that can be read without waiting.
std::string read_ready(int fd) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    std::string text(8 << 20, '\0');
    std::size_t size = 0;
    for (ssize_t count; (count = read(fd, text.data() + size, text.size() - size)) > 0;)
        size += static_cast<std::size_t>(count);
    text.resize(size);
    return text;
}

class ConsoleTest : public testing::Test {
protected:
    ConsoleTest() { signal(SIGPIPE, SIG_IGN); }

    Console& console(int fd) {
        console_ = std::make_unique<Console>(loop_, fd, "standard output", warnings_, [this] {
            ++progress_;
            if (console_->queue().empty()) loop_.stop();
        });
        return *console_;
    }

    /// Behind a pipe that is full with a part of the first line.
    Console& console_inside_a_line(const Ends& ends, const std::string& rest) {
        Console& out = console(ends.writer.get());
        fcntl(ends.writer.get(), F_SETPIPE_SZ, 4096);
        out.queue().append(std::string(5000, 'x') + rest);
        out.flush();
        return out;
    }

    base::Loop loop_;
    Warnings warnings_;
    int progress_ = 0;
    std::unique_ptr<Console> console_;
};

class ConsoleKinds : public ConsoleTest, public testing::WithParamInterface<Ends (*)()> {};

TEST_P(ConsoleKinds, a_slow_reader_receives_all_bytes_and_blocks_no_writer) {
    Ends ends = GetParam()();
    const int flags = fcntl(ends.writer.get(), F_GETFL);
    Console& out = console(ends.writer.get());
    std::string text;
    for (int i = 0; text.size() < Console::kQueueBytes + 1000; ++i) text += "line " + std::to_string(i) + "\n";
    out.queue().append(text);
    EXPECT_TRUE(out.full());
    out.flush();
    EXPECT_FALSE(out.queue().empty()) << "the kernel does not take so much at once";
    EXPECT_EQ(fcntl(ends.writer.get(), F_GETFL), flags) << "the flags of the shared description are unchanged";

    std::string seen;
    base::Watch reader = loop_.readable(ends.reader.get(), [&] { seen += read_ready(ends.reader.get()); });
    loop_.run();
    seen += read_ready(ends.reader.get());
    std::erase(seen, '\r');
    EXPECT_TRUE(seen == text);
    EXPECT_FALSE(out.full());
    EXPECT_EQ(progress_, 2) << "half empty, and empty";
}

std::string kind_name(const testing::TestParamInfo<Ends (*)()>& info) {
    return std::array{"pipe", "sockets", "terminal"}[info.index];
}

INSTANTIATE_TEST_SUITE_P(All, ConsoleKinds, testing::Values(make_pipe, make_sockets, make_terminal), kind_name);

TEST_F(ConsoleTest, a_regular_file_receives_all_bytes_at_once) {
    std::string name = testing::TempDir() + "/console_XXXXXX";
    base::UniqueFd file(mkstemp(name.data()));
    unlink(name.c_str());
    Console& out = console(file.get());
    const std::string text(3 << 20, 'x');
    out.queue().append(text);
    out.flush();
    EXPECT_TRUE(out.queue().empty());
    EXPECT_EQ(lseek(file.get(), 0, SEEK_END), 3 << 20);
}

TEST_F(ConsoleTest, bytes_are_discarded_with_one_warning_when_the_reader_closes) {
    Ends ends = make_pipe();
    Console& out = console(ends.writer.get());
    ends.reader.reset();
    for (int i = 0; i < 3; ++i) {
        out.queue().append("into the void\n");
        out.flush();
        EXPECT_TRUE(out.queue().empty());
    }
    EXPECT_EQ(warnings_.take(),
              std::vector<std::string>{"standard output: Broken pipe; the workers' output there is discarded"});
}

TEST_F(ConsoleTest, a_closed_descriptor_discards_all_bytes) {
    Console& out = console(-1);
    out.queue().append("x");
    out.flush();
    EXPECT_TRUE(out.queue().empty());
    EXPECT_TRUE(warnings_.take().empty());
}

TEST_F(ConsoleTest, a_full_disk_causes_one_warning_and_later_writes_are_tried) {
    base::UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    Console& out = console(full.get());
    for (int i = 0; i < 3; ++i) {
        out.queue().append("x");
        out.flush();
    }
    EXPECT_TRUE(out.queue().empty());
    EXPECT_EQ(warnings_.take(),
              std::vector<std::string>{"standard output: No space left on device; some output is lost"});
}

TEST_F(ConsoleTest, progressed_at_is_the_time_of_the_last_write) {
    Ends ends = make_pipe();
    Console& out = console(ends.writer.get());
    const base::Time before = base::Clock::now();
    out.queue().append(std::string(500'000, 'x'));
    out.flush();
    const base::Time progressed = out.progressed_at();
    EXPECT_GE(progressed, before);
    out.flush();
    EXPECT_EQ(out.progressed_at(), progressed) << "the pipe is full";
}

TEST_F(ConsoleTest, drop_keeps_the_rest_of_a_line_written_in_part) {
    Ends ends = make_pipe();
    Console& out = console_inside_a_line(ends, "\nsecond\nthird\n");
    EXPECT_EQ(out.drop(), 13u);
    EXPECT_EQ(read_ready(ends.reader.get()), std::string(4096, 'x'));
    out.flush();
    EXPECT_EQ(read_ready(ends.reader.get()), std::string(904, 'x') + "\n");
    EXPECT_EQ(out.drop(), 0u);
}

TEST_F(ConsoleTest, one_that_is_held_completes_its_line_and_shows_the_rest_later) {
    Ends ends = make_pipe();
    Console& out = console_inside_a_line(ends, "\nsecond\n");
    out.hold();
    std::string seen;
    base::Watch reader = loop_.readable(ends.reader.get(), [&] {
        seen += read_ready(ends.reader.get());
        if (seen.ends_with('\n')) loop_.stop();
    });
    loop_.run();
    out.queue().append("third\n");
    out.flush();
    EXPECT_EQ(seen + read_ready(ends.reader.get()), std::string(5000, 'x') + "\n");
    const int earlier = progress_;
    out.release();
    EXPECT_EQ(read_ready(ends.reader.get()), "second\nthird\n");
    loop_.post([&] { loop_.stop(); });
    loop_.run();
    EXPECT_EQ(progress_, earlier + 1) << "sources may be read again";
}

TEST_F(ConsoleTest, two_descriptors_of_one_pipe_are_recognised) {
    Ends one = make_pipe(), other = make_pipe();
    base::UniqueFd copy(dup(one.writer.get()));
    EXPECT_TRUE(Console::same(one.writer.get(), copy.get()));
    EXPECT_FALSE(Console::same(one.writer.get(), other.writer.get()));
    EXPECT_FALSE(Console::same(one.writer.get(), -1));
}

}  // namespace
}  // namespace dlaunch::agent
