/// Data-parallel training on colour pictures that one rank fetches for all. The pictures are digits in random colours
/// on random backgrounds, or CIFAR-10's binary files in the folder that an argument names. Prints `rank 0:
/// downloading`, `rank r: found the data`, `Rank r, epoch e: loss` for each of 5 epochs, `Rank r: accuracy a` and
/// `Rank r: parameters c`.

#include <fstream>
#include <iterator>

#include "examples/training.hpp"

namespace {

constexpr std::size_t kPlane = 32 * 32;

Pictures draw(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    const auto chance = [&] { return static_cast<float>(random()) * 0x1p-32F; };
    Pictures pictures{3 * kPlane, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
        pictures.labels.push_back(static_cast<int>(random() % 10));
        const std::vector<float> ink = Pen::draw(pictures.labels.back(), 32, random);
        const float light = chance() < 0.5F ? 1.0F : -1.0F;  // bright on dark or dark on bright
        for (int colour = 0; colour < 3; ++colour) {
            const float ground = -light * (0.4F + 0.6F * chance()), line = light * (0.2F + 0.8F * chance());
            for (const float value : ink) pictures.pixels.push_back(ground + value * (line - ground));
        }
    }
    return pictures;
}

/// Reads a file of CIFAR-10: for each picture a byte with the label, then three colour planes.
void read(const std::string& path, Pictures& pictures) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path + " is not there");
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t at = 0; at + 3 * kPlane < bytes.size(); at += 3 * kPlane + 1) {
        pictures.labels.push_back(bytes[at]);
        for (std::size_t i = 1; i <= 3 * kPlane; ++i)
            pictures.pixels.push_back(static_cast<float>(static_cast<unsigned char>(bytes[at + i])) / 127.5F - 1);
    }
    check_labels(pictures, path);
}

/// 62,006 parameters.
Model make_model(std::mt19937& random) {
    std::vector<std::unique_ptr<Layer>> layers;
    auto first = std::make_unique<Convolution>(3, 6, 32);
    first->first = true;
    layers.push_back(std::move(first));
    layers.push_back(std::make_unique<Relu>());
    layers.push_back(std::make_unique<MaxPool>(28));
    layers.push_back(std::make_unique<Convolution>(6, 16, 14));
    layers.push_back(std::make_unique<Relu>());
    layers.push_back(std::make_unique<MaxPool>(10));
    layers.push_back(std::make_unique<Linear>(400, 120));
    layers.push_back(std::make_unique<Relu>());
    layers.push_back(std::make_unique<Linear>(120, 84));
    layers.push_back(std::make_unique<Relu>());
    layers.push_back(std::make_unique<Linear>(84, 10));
    return Model(std::move(layers), random);
}

int train(int argc, char** argv) {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    if (rank != 0) dlaunch::barrier();  // until rank 0 has fetched the data
    if (rank == 0) {
        print("rank 0: downloading");
        dlaunch::barrier();
    }
    Pictures learnt{3 * kPlane, {}, {}}, held_out = learnt;
    if (argc > 1) {
        for (int i = 1; i <= 5; ++i) read(std::string(argv[1]) + "/data_batch_" + std::to_string(i) + ".bin", learnt);
        read(std::string(argv[1]) + "/test_batch.bin", held_out);
    } else {
        learnt = draw(2500, 1);
        held_out = draw(500, 2);
    }
    print("rank ", rank, ": found the data");

    const Partitioner partition = Partitioner::equal(learnt.count(), ranks);
    const std::size_t batch = std::max<std::size_t>(1, 16 / static_cast<std::size_t>(ranks));
    const std::size_t batches = (partition.part(rank).size() + batch - 1) / batch;
    std::mt19937 random(1234);
    Model model = make_model(random);
    for (int epoch = 0; epoch < 5; ++epoch) {
        float loss = 0;
        for (std::size_t i = 0; i < batches; ++i) {
            const auto [pixels, labels] = learnt.take(batch_of(partition.part(rank), i, batch));
            loss += model.learn(pixels, labels);
            dlaunch::all_reduce(model.gradients, dlaunch::ReduceOp::avg());
            model.step(0.01F, 0.9F);
        }
        print("Rank ", rank, ", epoch ", epoch, ": ", loss / static_cast<float>(batches));
    }
    print("Rank ", rank, ": accuracy ", accuracy(model, held_out));
    print("Rank ", rank, ": parameters ", checksum(model));
    return 0;
}

}  // namespace

int main(int argc, char** argv) { return dlaunch::record(argc, argv, train); }
