#pragma once
// Training pictures: drawn digits, the same in every run, or MNIST's files from a folder.

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct Pictures {
    std::size_t size = 0;       ///< numbers in one picture
    std::vector<float> pixels;  ///< picture after picture
    std::vector<int> labels;

    [[nodiscard]] std::size_t count() const { return labels.size(); }
    /// The pictures of a batch, contiguous.
    template <class Indexes>
    [[nodiscard]] std::pair<std::vector<float>, std::vector<int>> take(const Indexes& indexes) const {
        std::pair<std::vector<float>, std::vector<int>> batch;
        for (const std::size_t i : indexes) {
            batch.first.insert(batch.first.end(), pixels.begin() + static_cast<std::ptrdiff_t>(i * size),
                               pixels.begin() + static_cast<std::ptrdiff_t>((i + 1) * size));
            batch.second.push_back(labels[i]);
        }
        return batch;
    }
};

struct Pen {
    using Stroke = std::vector<std::pair<float, float>>;  // a polyline in a square from 0 to 1, y downwards

    /// The strokes of each digit.
    static const std::array<std::vector<Stroke>, 10>& strokes() {
        static const Stroke circle = [] {
            Stroke points;
            for (int i = 0; i <= 12; ++i)
                points.emplace_back(0.5F + 0.3F * std::cos(0.5236F * static_cast<float>(i)),
                                    0.5F + 0.45F * std::sin(0.5236F * static_cast<float>(i)));
            return points;
        }();
        static const std::array<std::vector<Stroke>, 10> digits{{
            {circle},
            {{{0.35F, 0.25F}, {0.55F, 0.05F}, {0.55F, 0.95F}}},
            {{{0.2F, 0.25F},
              {0.35F, 0.05F},
              {0.65F, 0.05F},
              {0.8F, 0.25F},
              {0.75F, 0.45F},
              {0.2F, 0.95F},
              {0.85F, 0.95F}}},
            {{{0.2F, 0.1F}, {0.6F, 0.05F}, {0.8F, 0.25F}, {0.45F, 0.48F}, {0.8F, 0.7F}, {0.6F, 0.95F}, {0.2F, 0.9F}}},
            {{{0.65F, 0.95F}, {0.65F, 0.05F}, {0.15F, 0.65F}, {0.85F, 0.65F}}},
            {{{0.8F, 0.05F},
              {0.25F, 0.05F},
              {0.25F, 0.45F},
              {0.65F, 0.42F},
              {0.8F, 0.65F},
              {0.65F, 0.95F},
              {0.2F, 0.9F}}},
            {{{0.7F, 0.05F},
              {0.35F, 0.35F},
              {0.2F, 0.7F},
              {0.4F, 0.95F},
              {0.7F, 0.9F},
              {0.8F, 0.68F},
              {0.6F, 0.52F},
              {0.25F, 0.65F}}},
            {{{0.15F, 0.05F}, {0.85F, 0.05F}, {0.4F, 0.95F}}},
            {{{0.5F, 0.48F},
              {0.25F, 0.25F},
              {0.5F, 0.05F},
              {0.75F, 0.25F},
              {0.5F, 0.48F},
              {0.2F, 0.72F},
              {0.5F, 0.95F},
              {0.8F, 0.72F},
              {0.5F, 0.48F}}},
            {{{0.75F, 0.35F},
              {0.45F, 0.48F},
              {0.25F, 0.28F},
              {0.45F, 0.05F},
              {0.75F, 0.15F},
              {0.75F, 0.35F},
              {0.6F, 0.95F}}},
        }};
        return digits;
    }

    /// Ink from 0 to 1 on side x side pixels, with random slant, size, position and thickness.
    static std::vector<float> draw(int digit, std::size_t side, std::mt19937& random) {
        const auto between = [&](float low, float high) {
            return low + (high - low) * static_cast<float>(random()) * 0x1p-32F;
        };
        const auto length = static_cast<float>(side);
        const float slant = between(-0.35F, 0.35F), height = between(0.55F, 0.8F) * length,
                    width = between(0.45F, 0.8F) * length;
        const float left = (length - width) / 2 + between(-2.5F, 2.5F),
                    top = (length - height) / 2 + between(-2.5F, 2.5F), thick = between(0.6F, 1.5F);
        std::vector<float> ink(side * side);
        for (const Stroke& stroke : strokes()[static_cast<std::size_t>(digit)]) {
            for (std::size_t p = 0; p + 1 < stroke.size(); ++p) {
                const auto place = [&](std::size_t i) {
                    return std::pair(left + (stroke[i].first + slant * (0.5F - stroke[i].second)) * width,
                                     top + stroke[i].second * height);
                };
                const auto [ax, ay] = place(p);
                const auto [bx, by] = place(p + 1);
                const float dx = bx - ax, dy = by - ay, square = dx * dx + dy * dy;
                for (std::size_t i = 0; i < ink.size(); ++i) {
                    const std::size_t column = i % side, row = i / side;
                    const float x = static_cast<float>(column), y = static_cast<float>(row);
                    const float along = std::clamp(((x - ax) * dx + (y - ay) * dy) / square, 0.0F, 1.0F);
                    const float distance = std::hypot(x - ax - along * dx, y - ay - along * dy);
                    ink[i] = std::max(ink[i], std::clamp(thick + 0.5F - distance, 0.0F, 1.0F));
                }
            }
        }
        for (float& value : ink) value = std::clamp(value + between(-0.15F, 0.15F), 0.0F, 1.0F);
        return ink;
    }
};

/// `count` drawn digits of 28 x 28 pixels, normalized like MNIST's.
inline Pictures draw_digits(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    Pictures pictures{std::size_t{28} * 28, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
        pictures.labels.push_back(static_cast<int>(random() % 10));
        for (const float ink : Pen::draw(pictures.labels.back(), 28, random))
            pictures.pixels.push_back((ink - 0.1307F) / 0.3081F);
    }
    return pictures;
}

inline void check_labels(const Pictures& pictures, const std::string& from) {
    if (std::any_of(pictures.labels.begin(), pictures.labels.end(), [](int label) { return label < 0 || label > 9; }))
        throw std::runtime_error(from + ": not all labels are from 0 to 9");
}

/// MNIST's "train" or "t10k" files in a folder, compressed or not.
inline Pictures read_mnist(const std::string& folder, const std::string& part) {
    const auto read = [&](const std::string& name, std::size_t header) {
        gzFile file = gzopen((folder + "/" + name).c_str(), "rb");
        if (!file) file = gzopen((folder + "/" + name + ".gz").c_str(), "rb");
        if (!file) throw std::runtime_error(folder + "/" + name + " is not there");
        std::vector<unsigned char> bytes, chunk(1 << 16);
        for (int size = 0; (size = gzread(file, chunk.data(), 1 << 16)) > 0;)
            bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + size);
        gzclose(file);
        if (bytes.size() < header) throw std::runtime_error(folder + "/" + name + " is too short");
        bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
        return bytes;
    };
    Pictures pictures{std::size_t{28} * 28, {}, {}};
    for (const unsigned char byte : read(part + "-images-idx3-ubyte", 16))
        pictures.pixels.push_back((static_cast<float>(byte) / 255 - 0.1307F) / 0.3081F);
    for (const unsigned char byte : read(part + "-labels-idx1-ubyte", 8)) pictures.labels.push_back(byte);
    check_labels(pictures, folder);
    if (pictures.pixels.size() != pictures.count() * pictures.size)
        throw std::runtime_error(folder + ": pictures and labels do not fit");
    return pictures;
}
