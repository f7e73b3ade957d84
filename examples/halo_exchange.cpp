/// The heat equation on a square, whose blocks are shared by a grid of ranks: halo_exchange [SIZE [STEPS]]. In each
/// step a rank needs the borders of its neighbours' blocks, the halo of its own. All messages of a step go in one
/// batch. Rank 0 prints `sum x`, the heat that is left, which does not depend on the number of ranks.

#include <dlaunch/dlaunch.hpp>

#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <vector>

#include "examples/part.hpp"
#include "examples/print.hpp"

namespace {

/// A rank's block with a halo of one cell. Beyond the square's border the halo stays 0.
class Block {
public:
    Block(int size, const dlaunch::ProcessGroup& group) : group_(group), across_(columns(group.size())) {
        const int down = group.size() / across_;
        x_ = group.rank() % across_;
        y_ = group.rank() / across_;
        const Part wide(size, x_, across_), high(size, y_, down);
        width_ = wide.size();
        height_ = high.size();
        now_.resize(static_cast<std::size_t>((width_ + 2) * (height_ + 2)));
        next_ = now_;
        for (int y = 0; y < height_; ++y)
            for (int x = 0; x < width_; ++x)
                at(now_, x, y) = 1.0 + (wide.begin + x) % 7 * 0.25 + (high.begin + y) % 5 * 0.5;
    }

    void step() {
        exchange();
        for (int y = 0; y < height_; ++y)
            for (int x = 0; x < width_; ++x)
                at(next_, x, y) = at(now_, x, y) + 0.2 * (at(now_, x - 1, y) + at(now_, x + 1, y) + at(now_, x, y - 1) +
                                                          at(now_, x, y + 1) - 4 * at(now_, x, y));
        now_.swap(next_);
    }

    [[nodiscard]] double sum() {
        double heat = 0;
        for (int y = 0; y < height_; ++y)
            for (int x = 0; x < width_; ++x) heat += at(now_, x, y);
        group_.all_reduce(heat);
        return heat;
    }

private:
    using Cells = std::vector<double>;

    /// The largest divisor of `ranks` up to its root: 2 for 4, 2 for 6, 3 for 9.
    static int columns(int ranks) {
        int found = 1;
        for (int n = 2; n * n <= ranks; ++n)
            if (ranks % n == 0) found = n;
        return found;
    }
    double& at(Cells& cells, int x, int y) const {
        return cells[static_cast<std::size_t>((y + 1) * (width_ + 2) + x + 1)];
    }

    /// One side of the block: where its border lies, where its halo does, and in which direction the neighbour.
    struct Side {
        int dx, dy, border, halo;
        Cells out{}, in{};
    };

    void exchange() {
        Side sides[] = {{-1, 0, 0, -1}, {1, 0, width_ - 1, width_}, {0, -1, 0, -1}, {0, 1, height_ - 1, height_}};
        std::vector<dlaunch::P2POp> batch;
        for (Side& side : sides) {
            const int x = x_ + side.dx, y = y_ + side.dy, down = group_.size() / across_;
            if (x < 0 || x >= across_ || y < 0 || y >= down) continue;
            for_each_cell(side, side.border, [&](double& cell) { side.out.push_back(cell); });
            side.in.resize(side.out.size());
            // Between two ranks there is one border, so that no tags are needed.
            batch.push_back(dlaunch::send_op(side.out, y * across_ + x));
            batch.push_back(dlaunch::recv_op(side.in, y * across_ + x));
        }
        auto works = group_.batch_isend_irecv(batch);
        dlaunch::wait_all(works);
        for (Side& side : sides) {
            auto value = side.in.begin();
            if (!side.in.empty()) for_each_cell(side, side.halo, [&](double& cell) { cell = *value++; });
        }
    }
    template <class F>
    void for_each_cell(const Side& side, int line, F&& f) {
        const bool is_column = side.dx != 0;
        for (int i = 0; i < (is_column ? height_ : width_); ++i) f(is_column ? at(now_, line, i) : at(now_, i, line));
    }

    const dlaunch::ProcessGroup group_;
    const int across_;  // ranks in a row of the grid
    int x_, y_;         // of this rank in the grid
    int width_, height_;
    Cells now_, next_;
};

int number(int argc, char** argv, int place, int otherwise) {
    return argc > place ? std::atoi(argv[place]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
    const dlaunch::ProcessGroup world = dlaunch::init_process_group();
    Block block(number(argc, argv, 1, 64), world);
    for (int step = number(argc, argv, 2, 100); step > 0; --step) block.step();
    const double sum = block.sum();
    std::ostringstream digits;
    digits << std::setprecision(12) << sum;
    if (world.rank() == 0) print("sum ", digits.str());
}
