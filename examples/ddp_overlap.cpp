/// Overlaps communication and computation: the gradients of the last layers are complete first and are averaged in
/// buckets during the rest of the backward pass. Runs the same 20 steps with one all-reduce at the end and with
/// buckets. Prints `Rank r: averaged c` and `Rank r: overlapped c`, the checksums of the parameters, which are equal:
/// an element's sum does not depend on the message in which it travels; and, on the standard error of rank 0, the time
/// of a step in both ways. The more of it is communication, the more time the buckets save: little between processes of
/// one machine, up to the whole communication between machines.

#include <chrono>
#include <cstdio>

#include "examples/training.hpp"

namespace {

constexpr std::size_t kBucket = 4000;  // parameters, at least

/// Collects complete gradients and starts the all-reduce of each full bucket.
class Buckets {
public:
    void add(std::span<float> gradients) {  // adjacent to the previous ones, at lower addresses
        open_ = open_.empty() ? gradients : std::span(gradients.data(), gradients.size() + open_.size());
        if (open_.size() >= kBucket) send();
    }
    void finish() {
        if (!open_.empty()) send();
        for (dlaunch::Work& work : works_) work.wait();
        works_.clear();
    }

private:
    void send() {
        works_.push_back(dlaunch::all_reduce_async(open_, dlaunch::ReduceOp::avg()));
        open_ = {};
    }
    std::span<float> open_;
    std::vector<dlaunch::Work> works_;
};

struct Trained {
    unsigned long checksum = 0;
    double milliseconds = 0;  ///< of a step, the median
};

Trained train(const Pictures& digits, int rank, int ranks, bool overlaps) {
    std::mt19937 random(1234);
    Model model = digit_model(random, false);
    Buckets buckets;
    std::vector<std::size_t> all(digits.count());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const std::size_t batch = batch_size(ranks);
    std::vector<double> milliseconds;
    for (std::size_t step = 0; step < 20; ++step) {
        const auto start = std::chrono::steady_clock::now();
        const auto rows = batch_of(all, step, batch * static_cast<std::size_t>(ranks));
        const auto [pixels, labels] = digits.take(batch_of(rows, static_cast<std::size_t>(rank), batch));
        if (overlaps) {
            model.learn(pixels, labels, [&](std::span<float> gradients) { buckets.add(gradients); });
            buckets.finish();
        } else {
            model.learn(pixels, labels);
            dlaunch::all_reduce(model.gradients, dlaunch::ReduceOp::avg());
        }
        model.step(0.01F, 0);
        const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
        milliseconds.push_back(taken.count());
    }
    std::ranges::nth_element(milliseconds, milliseconds.begin() + 10);
    return {checksum(model), milliseconds[10]};
}

}  // namespace

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    const Pictures digits = draw_digits(20 * batch_size(ranks) * static_cast<std::size_t>(ranks), 1);
    const Trained averaged = train(digits, rank, ranks, false), overlapped = train(digits, rank, ranks, true);
    print("Rank ", rank, ": averaged ", averaged.checksum);
    print("Rank ", rank, ": overlapped ", overlapped.checksum);
    if (rank == 0)
        std::fprintf(stderr, "a step takes %.2f ms averaged, %.2f ms overlapped: %.2f ms saved\n",
                     averaged.milliseconds, overlapped.milliseconds, averaged.milliseconds - overlapped.milliseconds);
}
