/// Overlaps communication and computation: the gradients of the last layers are complete first and are averaged in
/// buckets during the rest of the backward pass. Runs the same 20 steps with one all-reduce at the end and with
/// buckets. Prints `Rank r: averaged c` and `Rank r: overlapped c`, the checksums of the parameters, which are equal:
/// an element's sum does not depend on the message in which it travels.

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

unsigned long train(const Pictures& digits, int rank, int ranks, bool overlaps) {
    std::mt19937 random(1234);
    Model model = digit_model(random, false);
    Buckets buckets;
    std::vector<std::size_t> all(digits.count());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const std::size_t batch = batch_size(ranks);
    for (std::size_t step = 0; step < 20; ++step) {
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
    }
    return checksum(model);
}

}  // namespace

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    const Pictures digits = draw_digits(20 * batch_size(ranks) * static_cast<std::size_t>(ranks), 1);
    print("Rank ", rank, ": averaged ", train(digits, rank, ranks, false));
    print("Rank ", rank, ": overlapped ", train(digits, rank, ranks, true));
}
