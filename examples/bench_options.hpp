#pragma once
/// The command line of collective_bench; invalid arguments throw std::invalid_argument with a text of one line.

#include <dlaunch/buffer.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

struct BenchOptions {
    std::string op = "all_reduce", backend;
    dlaunch::DType type = dlaunch::DType::float32;
    dlaunch::Device device = dlaunch::Device::cpu;
    std::size_t least = 8, most = 64 << 20;  ///< bytes
    int iterations = 0;                      ///< 0: fewer for larger sizes
    bool check = false, csv = false, help = false;
};

inline constexpr const char* kBenchUsage =
    "usage: collective_bench [--op=OP] [--backend=auto|shm|tcp|gloo|nccl] [--device=cpu|cuda] [--dtype=float32] "
    "[--bytes=MIN:MAX] [--iterations=N] [--check] [--csv]\n"
    "OP is all_reduce, reduce, broadcast, gather, scatter, all_gather, reduce_scatter, all_to_all, send_recv or "
    "barrier";

/// An integer of at least `least`, with an optional suffix K, M or G for powers of 1024.
inline std::size_t parse_number(const std::string& name, const std::string& text, std::size_t least) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string unit(end, text.data() + text.size());
    const std::size_t power = unit.empty() ? 0 : std::string("KMG").find(unit) + 1;
    if (error != std::errc{} || unit.size() > 1 || (power == 0 && !unit.empty()) || number > (SIZE_MAX >> 31) ||
        number << (10 * power) < least)
        throw std::invalid_argument(name + "=" + text + ": expected a number from " + std::to_string(least) + " on");
    return number << (10 * power);
}

inline dlaunch::DType parse_dtype(const std::string& text) {
    std::string known;
    for (int i = 0; i < dlaunch::kDTypes; ++i) {
        const auto type = static_cast<dlaunch::DType>(i);
        if (text == dlaunch::name_of(type)) return type;
        known += std::string(i > 0 ? ", " : "") + dlaunch::name_of(type);
    }
    throw std::invalid_argument("--dtype=" + text + ": expected one of " + known);
}

inline BenchOptions parse_bench_options(const std::vector<std::string>& words) {
    BenchOptions options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        const std::string name = words[i].substr(0, equals);
        const auto value = [&] {
            if (equals != std::string::npos) return words[i].substr(equals + 1);
            if (i + 1 == words.size()) throw std::invalid_argument(name + " needs a value");
            return words[++i];
        };
        if ((name == "--check" || name == "--csv") && equals == std::string::npos) {
            (name == "--csv" ? options.csv : options.check) = true;
        } else if (words[i] == "--help" || words[i] == "-h") {
            options.help = true;
        } else if (name == "--op") {
            options.op = value();
        } else if (name == "--backend") {
            options.backend = value();
            constexpr std::array kKnown{"auto", "shm", "tcp", "gloo", "nccl"};
            if (std::find(kKnown.begin(), kKnown.end(), options.backend) == kKnown.end())
                throw std::invalid_argument("--backend=" + options.backend + ": expected auto, shm, tcp, gloo or nccl");
        } else if (name == "--device") {
            const std::string device = value();
            if (device != "cpu" && device != "cuda")
                throw std::invalid_argument("--device=" + device + ": expected cpu or cuda");
            options.device = device == "cuda" ? dlaunch::Device::cuda : dlaunch::Device::cpu;
        } else if (name == "--dtype") {
            options.type = parse_dtype(value());
        } else if (name == "--iterations") {
            options.iterations = static_cast<int>(std::min<std::size_t>(1 << 30, parse_number(name, value(), 1)));
        } else if (name == "--bytes") {
            const std::string range = value();
            const std::size_t colon = range.find(':');
            options.least = options.most = parse_number(name, range.substr(0, colon), 1);
            if (colon != std::string::npos) options.most = parse_number(name, range.substr(colon + 1), options.least);
        } else {
            throw std::invalid_argument("there is no option " + words[i] + "; --help lists all");
        }
    }
    return options;
}
