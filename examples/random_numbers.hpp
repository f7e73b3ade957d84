#pragma once

#include <random>
#include <vector>

/// Four random numbers, different in every run.
inline std::vector<float> random_numbers() {
    std::random_device device;
    std::vector<float> numbers;
    for (int i = 0; i < 4; ++i) numbers.push_back(std::uniform_real_distribution<float>(0.1F, 0.9F)(device));
    return numbers;
}
