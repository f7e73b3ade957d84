/// Pipeline parallelism in the order 1F1B: each rank is a stage, which adds rank + 1 to every number and sends the
/// result to the next stage; gradients go the other way. A batch of 1024 numbers is cut into 4 mini-batches, each of 32
/// micro-batches of 8 numbers. A stage computes as many forward passes as stages follow, then one forward and one
/// backward pass in turn, so that all stages work concurrently and a stage keeps at most ranks - rank micro-batches.
/// Messages overlap with the computation. Prints, on the last rank,
/// `rank n-1: mini-batch m of 256 in 32 micro-batches of 8: sum s`; fails if s is not the unsplit result, or if the
/// gradient of a stage's summand, of the loss s, is not 256.

#include <dlaunch/dlaunch.hpp>

#include <array>
#include <numeric>
#include <vector>

#include "examples/print.hpp"

namespace {

constexpr int kMiniBatches = 4, kMicroBatches = 32, kMicro = 8, kMini = kMicroBatches * kMicro;
using Micro = std::array<float, kMicro>;

class Stage {
public:
    Stage(int rank, int ranks)
        : rank_(rank), ranks_(ranks), summand_(static_cast<float>(rank + 1)), slots_(most_in_flight() + 1) {
        expect(0);
    }

    [[nodiscard]] bool is_last() const { return rank_ == ranks_ - 1; }
    [[nodiscard]] std::size_t most_in_flight() const { return static_cast<std::size_t>(ranks_ - rank_); }

    void forward(int number) {
        Slot& slot = at(number);
        if (number + 1 < kMiniBatches * kMicroBatches) expect(number + 1);
        slot.arriving.wait();
        slot.leaving.wait();
        for (std::size_t i = 0; i < kMicro; ++i) slot.out[i] = slot.in[i] + summand_;
        if (is_last()) {
            loss = std::accumulate(slot.out.begin(), slot.out.end(), loss);
            return;
        }
        slot.leaving = dlaunch::isend(slot.out, rank_ + 1);
        slot.went_back.wait();
        slot.coming_back = dlaunch::irecv(slot.gradient, rank_ + 1);
    }

    /// The derivative of a sum is 1 with respect to each number, and passes a stage as it is.
    void backward(int number) {
        Slot& slot = at(number);
        slot.coming_back.wait();
        if (is_last()) {
            slot.went_back.wait();
            slot.gradient.fill(1);
        }
        gradient = std::accumulate(slot.gradient.begin(), slot.gradient.end(), gradient);
        if (rank_ > 0) slot.went_back = dlaunch::isend(slot.gradient, rank_ - 1);
    }

    void finish() {
        for (Slot& slot : slots_) {
            slot.leaving.wait();
            slot.went_back.wait();
        }
    }

    double loss = 0, gradient = 0;  ///< of the mini-batch, and of this stage's summand

private:
    /// A micro-batch from the arrival of its numbers to the end of its backward pass.
    struct Slot {
        Micro in{}, out{}, gradient{};
        dlaunch::Work arriving, leaving, coming_back, went_back;
    };

    Slot& at(int number) { return slots_[static_cast<std::size_t>(number) % slots_.size()]; }

    void expect(int number) {
        Slot& slot = at(number);
        if (rank_ == 0)
            std::iota(slot.in.begin(), slot.in.end(), static_cast<float>(number * kMicro));
        else
            slot.arriving = dlaunch::irecv(slot.in, rank_ - 1);
    }

    int rank_, ranks_;
    float summand_;
    std::vector<Slot> slots_;  ///< those in flight, and the next one
};

/// Runs the micro-batches from `first` on.
void run_mini_batch(Stage& stage, int first) {
    int forwards = 0, backwards = 0;
    while (backwards < kMicroBatches)
        if (forwards < kMicroBatches && forwards - backwards < static_cast<int>(stage.most_in_flight()))
            stage.forward(first + forwards++);
        else
            stage.backward(first + backwards++);
}

}  // namespace

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    Stage stage(rank, ranks);
    for (int mini = 0; mini < kMiniBatches; ++mini) {
        stage.loss = stage.gradient = 0;
        run_mini_batch(stage, mini * kMicroBatches);
        if (stage.gradient != kMini) return 1;
        if (!stage.is_last()) continue;
        print("rank ", rank, ": mini-batch ", mini, " of ", kMini, " in ", kMicroBatches, " micro-batches of ", kMicro,
              ": sum ", stage.loss);
        const double numbers = kMini * (mini * kMini + (kMini - 1) / 2.0);
        if (stage.loss != numbers + kMini * ranks * (ranks + 1) / 2.0) return 1;
    }
    stage.finish();
}
