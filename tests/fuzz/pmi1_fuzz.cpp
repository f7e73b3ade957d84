// PMI-1 lines of ranks: any bytes are requests with replies, or failures. The first byte of a line chooses the rank; a
// few values stand for the end of a rank and for the ends of what the server waits for. A reply is one line, an abort's
// code an exit status of a failure, and no rank has two requests pending.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/mpi/pmi1_server.hpp"

namespace {

using namespace dlaunch::agent;
using Kind = Pmi1Action::Kind;

constexpr int kRanks = 3;

void expect(bool truth) {
    if (!truth) std::abort();
}

class World {
public:
    explicit World(bool alone)
        : server_({.space = "s",
                   .world_size = kRanks,
                   .ranks = {0, 1, 2},
                   .appnums = {0, 0, 1},
                   .mapping = "(vector,(0,1,3))",
                   .alone = alone}) {}

    void take(std::string_view line) {
        const auto first = static_cast<unsigned char>(line.empty() ? 0 : line[0]);
        const int rank = first % kRanks;
        const int what = first / kRanks % 16;
        if (what == 3)
            answer();
        else if (has_ended_[rank])
            return;  // nor does it send anything
        else if (what == 1)
            static_cast<void>(server_.ended(rank, first & 64 ? 1 : 0));
        else if (what == 2)
            server_.endless(rank);
        else
            server_.line(rank, line.empty() ? line : line.substr(1));
        has_ended_[rank] |= what == 1;
        check();
    }

private:
    void check() {
        for (const Pmi1Action& action : server_.take_actions()) {
            expect(action.local_rank >= 0 && action.local_rank < kRanks);
            expect(action.text.find('\n') == std::string::npos || action.kind == Kind::fence);
            expect(action.kind != Kind::fail || (action.code > 0 && action.code < 256 && !action.text.empty()));
            if (action.kind == Kind::fence) fence_ = action.text;
            if (action.kind == Kind::fence) expect(!std::exchange(is_fenced_, true));
            Kind& pending = pending_[action.local_rank];
            if (action.kind == Kind::publish || action.kind == Kind::unpublish || action.kind == Kind::look_up) {
                expect(pending == Kind::reply);
                pending = action.kind;
            }
        }
    }
    /// What the server waits for ends.
    void answer() {
        if (std::exchange(is_fenced_, false)) server_.fenced({fence_, "k=v\nbad\n=\n"});
        check();
        for (int rank = 0; rank < kRanks; ++rank) {
            const Kind kind = std::exchange(pending_[rank], Kind::reply);
            if (kind == Kind::look_up) server_.found(rank, "port");
            if (kind == Kind::publish || kind == Kind::unpublish) server_.stored(rank, true);
            check();
        }
    }

    Pmi1Server server_;
    std::string fence_;
    bool is_fenced_ = false, has_ended_[kRanks] = {};
    Kind pending_[kRanks] = {Kind::reply, Kind::reply, Kind::reply};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    World world(size % 2 == 0);
    for (std::size_t end = 0; end != std::string_view::npos;) {
        end = text.find('\n');
        world.take(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return 0;
}
