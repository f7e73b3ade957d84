#pragma once
// Shared by the training examples: the digit network, a model's checksum and accuracy.

#include <dlaunch/dlaunch.hpp>

#include "examples/digits.hpp"
#include "examples/layers.hpp"
#include "examples/partition.hpp"
#include "examples/print.hpp"

/// A network of 21,840 parameters. Without dropout its results are reproducible.
inline Model digit_model(std::mt19937& random, bool dropout) {
    std::vector<std::unique_ptr<Layer>> layers;
    auto first = std::make_unique<Convolution>(1, 10, 28);
    first->first = true;
    layers.push_back(std::move(first));
    layers.push_back(std::make_unique<MaxPool>(24));
    layers.push_back(std::make_unique<Relu>());
    layers.push_back(std::make_unique<Convolution>(10, 20, 12));
    if (dropout) layers.push_back(std::make_unique<Dropout>(64, random));
    layers.push_back(std::make_unique<MaxPool>(8));
    layers.push_back(std::make_unique<Relu>());
    layers.push_back(std::make_unique<Linear>(320, 50));
    layers.push_back(std::make_unique<Relu>());
    if (dropout) layers.push_back(std::make_unique<Dropout>(1, random));
    layers.push_back(std::make_unique<Linear>(50, 10));
    return Model(std::move(layers), random);
}

/// CRC-32 of all parameters' bytes; detects replicas that differ in a single bit.
inline unsigned long checksum(const Model& model) {
    return crc32(0, reinterpret_cast<const unsigned char*>(model.parameters.data()),
                 static_cast<unsigned>(model.parameters.size() * sizeof(float)));
}

inline double accuracy(Model& model, const Pictures& pictures) {
    std::size_t right = 0;
    for (std::size_t i = 0; i < pictures.count(); ++i) {
        const auto [pixels, labels] = pictures.take(std::array{i});
        const Row scores = model.forward(pixels, 1, false);
        right += std::max_element(scores.begin(), scores.end()) - scores.begin() == labels[0] ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(pictures.count());
}
