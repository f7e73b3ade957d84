/// Shows that averaging gradients is correct: 20 steps of n ranks with b samples each equal 20 steps of one process
/// with n b samples, except for rounding. Every rank computes both. Prints `Rank r: greatest difference d` between the
/// two models' parameters and `Rank r: parameters c`, the checksum of the averaged one.

#include "examples/training.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    const std::size_t parts = static_cast<std::size_t>(ranks), batch = batch_size(ranks);
    const Pictures digits = draw_digits(20 * batch * parts, 1);
    std::mt19937 one(1234), other(1234);
    Model averaged = digit_model(one, false), whole = digit_model(other, false);
    std::vector<std::size_t> all(digits.count());
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (std::size_t step = 0; step < 20; ++step) {
        const auto rows = batch_of(all, step, batch * parts);
        const auto [pixels, labels] = digits.take(batch_of(rows, static_cast<std::size_t>(rank), batch));
        averaged.learn(pixels, labels);
        dlaunch::all_reduce(averaged.gradients, dlaunch::ReduceOp::avg());
        averaged.step(0.01F, 0.5F);

        const auto [all_pixels, all_labels] = digits.take(rows);
        whole.learn(all_pixels, all_labels);
        whole.step(0.01F, 0.5F);
    }
    float greatest = 0;
    for (std::size_t i = 0; i < whole.parameters.size(); ++i)
        greatest = std::max(greatest, std::abs(whole.parameters[i] - averaged.parameters[i]));
    print("Rank ", rank, ": greatest difference ", greatest);
    print("Rank ", rank, ": parameters ", checksum(averaged));
}
