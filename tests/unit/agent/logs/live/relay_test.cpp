#include "agent/logs/live/relay.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

/// The calls, one a line.
struct Calls : RelayReader::Handler {
    void on_add(int id, LineSource source) override {
        text += fmt::format("add {} {} {} {} {}|", id, source.rank, source.stream, source.apart, source.prefix);
    }
    void on_bytes(int id, std::string_view bytes) override {
        if (id != last_id) text += fmt::format("bytes {} ", id);
        text += bytes;
        last_id = id;
    }
    void on_end(int id) override { text += fmt::format("end {}|", id); }
    void on_text(std::string_view bytes) override { text += fmt::format("text {}|", bytes); }
    void on_progress(const JobProgress& job) override {
        text += fmt::format("{} of {}, {} of {}, {} of {}|", job.alive, job.workers, job.restarts, job.max_restarts,
                            job.nodes, job.wanted_nodes);
    }
    std::string text;
    int last_id = 0;
};

TEST(Relay, PassesAllCallsHoweverTheyAreSplit) {
    ByteQueue queue;
    RelayMixer mixer(queue);
    const base::Time now{};
    auto* const out = mixer.add({.stream = 1, .prefix = "[5] ", .rank = 5});
    auto* const other = mixer.add({.prefix = "", .apart = true, .rank = -1});
    mixer.feed(out, "a\nF 1 3\n\x1b[A|", now);
    mixer.show_progress({.workers = 4, .alive = 3, .restarts = 1, .max_restarts = 2, .nodes = 2, .wanted_nodes = 3});
    mixer.end(out, now);
    mixer.print("dlaunch: words\n", now);
    mixer.end(other, now);
    const std::string bytes(queue.view());
    const std::string expected =
        "add 1 5 1 false [5] |add 2 -1 0 true |bytes 1 a\nF 1 3\n\x1b[A|3 of 4, 1 of 2, 2 of 3|end 1|"
        "text dlaunch: words\n|end 2|";
    for (std::size_t at = 0; at <= bytes.size(); ++at) {
        RelayReader reader;
        Calls calls;
        reader.feed(std::string_view(bytes).substr(0, at), calls);
        reader.feed(std::string_view(bytes).substr(at), calls);
        ASSERT_EQ(calls.text, expected) << at;
    }
}

TEST(Relay, DropsWhatIsNoRecord) {
    for (const char* bytes :
         {"words\nE 1\n", "E x\nE 1\n", "E 1 2\nE 1\n", "P -1\nE 1\n", "A 1\nE 1\n", "P 99999999\n"}) {
        RelayReader reader;
        Calls calls;
        reader.feed(bytes, calls);
        EXPECT_EQ(calls.text, "") << bytes;
    }
    RelayReader reader;
    Calls calls;
    for (int count = 0; count < 1000; ++count) reader.feed(std::string(1000, 'E'), calls);
    EXPECT_EQ(calls.text, "");
}

}  // namespace
}  // namespace dlaunch::agent
