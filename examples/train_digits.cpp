/// Data-parallel training: every rank trains on its part of the digits, and all ranks average their gradients after
/// each batch, so that their models stay bitwise equal. Prints `Rank r, epoch e: loss` for each of 10 epochs, then
/// `Rank r: accuracy a` on separate test digits and `Rank r: parameters c`, a checksum. An argument names a folder with
/// MNIST's files. With CHECKPOINT=FILE in the environment the program saves its state there after each epoch and
/// resumes from it when it is started again: a restart by dlaunch ends with the same parameters.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "examples/training.hpp"

namespace {

constexpr int kEpochs = 10;
constexpr const char* kNoState = " cannot be read, or is no state of this program";

/// Saves all state that the next epoch depends on. The file is replaced atomically.
void save(const std::string& path, int epoch, const Model& model, const std::mt19937& random) {
    std::ostringstream text;
    text << epoch << ' ' << random << '\n';
    for (const Row* row : {&model.parameters, &model.momenta})
        text.write(reinterpret_cast<const char*>(row->data()),
                   static_cast<std::streamsize>(row->size() * sizeof(float)));
    const std::string bytes = text.str(), temporary = path + ".new";
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(temporary.c_str(), "wb"), std::fclose);
    if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() ||
        std::fflush(file.get()) != 0 || fsync(fileno(file.get())) != 0 ||
        std::rename(temporary.c_str(), path.c_str()) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot write " + path);
}

/// Loads the state on rank 0 and broadcasts it; returns the next epoch.
int resume(const std::string& path, Model& model, std::mt19937& random) {
    std::string bytes;
    if (dlaunch::get_rank() == 0 && access(path.c_str(), F_OK) == 0) {
        std::ifstream file(path, std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(file), {});
        if (bytes.empty()) throw std::runtime_error(path + kNoState);
    }
    dlaunch::default_group().broadcast_object(bytes);
    if (bytes.empty()) return 0;
    std::istringstream text(bytes);
    int epoch = 0;
    text >> epoch >> random;
    text.get();
    for (Row* row : {&model.parameters, &model.momenta})
        text.read(reinterpret_cast<char*>(row->data()), static_cast<std::streamsize>(row->size() * sizeof(float)));
    if (!text || text.peek() != std::istringstream::traits_type::eof()) throw std::runtime_error(path + kNoState);
    return epoch + 1;
}

int train(int argc, char** argv) {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    const char* checkpoint = std::getenv("CHECKPOINT");
    const Pictures learnt = argc > 1 ? read_mnist(argv[1], "train") : draw_digits(6000, 1);
    const Pictures held_out = argc > 1 ? read_mnist(argv[1], "t10k") : draw_digits(1000, 2);
    const Partitioner partition = Partitioner::equal(learnt.count(), ranks);
    const std::size_t batch = batch_size(ranks);

    std::mt19937 random(1234);  // the same seed on all ranks, so that the models start equal
    Model model = digit_model(random, true);
    for (int epoch = checkpoint ? resume(checkpoint, model, random) : 0; epoch < kEpochs; ++epoch) {
        const std::size_t batches = (partition.part(rank).size() + batch - 1) / batch;
        float loss = 0;
        for (std::size_t i = 0; i < batches; ++i) {
            const auto [pixels, labels] = learnt.take(batch_of(partition.part(rank), i, batch));
            loss += model.learn(pixels, labels);
            dlaunch::all_reduce(model.gradients, dlaunch::ReduceOp::avg());
            model.step(0.01F, 0.5F);
        }
        print("Rank ", rank, ", epoch ", epoch, ": ", loss / static_cast<float>(batches));
        if (checkpoint && rank == 0) save(checkpoint, epoch, model, random);
    }
    print("Rank ", rank, ": accuracy ", accuracy(model, held_out));
    print("Rank ", rank, ": parameters ", checksum(model));
    return 0;
}

}  // namespace

int main(int argc, char** argv) { return dlaunch::record(argc, argv, train); }
