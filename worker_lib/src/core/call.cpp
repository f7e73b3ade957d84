#include "worker_lib/src/core/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "rendezvous/base/text.hpp"

namespace dlaunch::worker {
namespace {

/// FNV-1a over the numbers; never 0.
std::uint64_t hash(std::span<const std::size_t> numbers) {
    std::uint64_t value = 0xCBF29CE484222325;
    for (const std::size_t number : numbers) value = (value ^ number) * 0x100000001B3;
    return value | 1;
}

std::size_t sum(const std::vector<std::size_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

}  // namespace

Extent extent(const Call& call, int rank, int ranks) {
    const std::size_t all = call.counts.empty() ? call.count * static_cast<std::size_t>(ranks) : sum(call.counts);
    const std::size_t own = call.count_of(rank);
    const bool root = call.root < 0 || call.root == rank;
    switch (call.op) {
        case Op::barrier: return {};
        case Op::broadcast: return {call.root == rank ? call.count : 0, call.count};
        case Op::reduce:
        case Op::all_reduce:
        case Op::scan:
        case Op::exscan: return {call.count, root ? call.count : 0};
        case Op::gather:
        case Op::all_gather: return {own, root ? all : 0};
        case Op::scatter:
        case Op::reduce_scatter: return {root ? all : 0, own};
        case Op::all_to_all: return {all, call.counts.empty() ? all : sum(call.out_counts)};
    }
    return {};
}

/// The counts of an all_to_allv differ between ranks by design; the algorithm itself checks that they fit together.
Signature::Signature(const Call& call)
    : sequence(call.sequence),
      count(call.counts.empty() ? call.count : 0),
      counts(call.counts.empty()         ? 0
             : call.op == Op::all_to_all ? 1
                                         : hash(call.counts)),
      root(call.root),
      op(call.op),
      type(call.type.kind()) {
    if (call.announced) {
        *this = Signature(*call.announced);
        flags |= kOnDevice;
        return;
    }
    if (call.pieces) {
        std::vector<std::size_t> lengths;
        for (const MutableBuffer& piece : *call.pieces) lengths.push_back(piece.count);
        counts = hash(lengths);
    }
    if (!call.type.is_number()) detail = call.type.size();
    if (call.function) flags |= kByFunction;
    if (!reduces(op) || call.function) return;
    reduce = call.reduce.kind();
    if (reduce == ReduceOp::Kind::premul_sum) detail = std::bit_cast<std::uint64_t>(call.reduce.factor());
}

std::uint64_t Signature::digest() const {
    // Odd multipliers are invertible modulo 2^64, so a difference in a single word always changes the digest.
    static constexpr std::uint64_t kFactors[] = {0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB,
                                                 0xD6E8FEB86659FD93, 0xCA5A826395121157};
    const auto words = std::bit_cast<std::array<std::uint64_t, std::size(kFactors)>>(*this);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < words.size(); ++i) value += words[i] * kFactors[i];
    return value;
}

std::string describe(const Signature& signature) {
    if (signature.op == Op::barrier) return "barrier";
    const bool scaled = signature.reduce == ReduceOp::Kind::premul_sum;
    const ElementType type(signature.type,
                           scaled || signature.detail == 0 ? size_of(signature.type) : signature.detail);
    std::string text = fmt::format("{}({}, ", name_of(signature.op), name_of(type));
    if (signature.counts == 0)
        text += std::to_string(signature.count);
    else
        text += signature.op == Op::all_to_all ? "counts" : fmt::format("counts #{:04x}", signature.counts & 0xFFFF);
    if ((signature.flags & Signature::kByFunction) != 0) {
        text += ", a function";
    } else if (reduces(signature.op)) {
        static constexpr const char* kNames[] = {"sum",  "product", "min",  "max",       "avg",
                                                 "band", "bor",     "bxor", "premul_sum"};
        text += fmt::format(", {}", kNames[static_cast<int>(signature.reduce)]);
        if (scaled) text += fmt::format(" {}", std::bit_cast<double>(signature.detail));
    }
    if (signature.root >= 0) text += fmt::format(", root {}", signature.root);
    return text + ((signature.flags & Signature::kOnDevice) != 0 ? ") in device memory" : ")");
}

bool all_alike(std::span<const Signature> by_rank) {
    return std::all_of(by_rank.begin(), by_rank.end(), [&](const Signature& other) { return other == by_rank[0]; });
}

Error mismatch(std::span<const Signature> by_rank, const GroupInfo& group) {
    const auto odd = std::find_if(by_rank.begin(), by_rank.end(), [&](const Signature& s) { return s != by_rank[0]; });
    const int rank = static_cast<int>(odd - by_rank.begin());
    const auto as_first = std::ranges::count(by_rank, by_rank[0]), as_odd = std::ranges::count(by_rank, *odd);
    return as_odd > as_first ? mismatch(rank, *odd, 0, by_rank[0], group) : mismatch(0, by_rank[0], rank, *odd, group);
}

Error mismatch(int usual, const Signature& first, int rank, const Signature& odd, const GroupInfo& group) {
    return {ErrorCode::mismatch,
            fmt::format("mismatch in group {}: as call #{} rank {} called {}, rank {} called {}{}; all ranks must make "
                        "the same calls in the same order",
                        group.name, first.sequence, group.named(usual), describe(first), group.named(rank),
                        describe(odd), odd.sequence == first.sequence ? "" : fmt::format(" as call #{}", odd.sequence)),
            {usual, rank},
            {name_of(first.op), first.sequence, group.name}};
}

Error mismatch(const Error::Where& where, const GroupInfo& group, int from, std::size_t sent, int to,
               std::size_t expected) {
    return failure(ErrorCode::mismatch, where, {from, to},
                   fmt::format("rank {} sends {} elements to rank {}, which expects {}", group.named(from), sent,
                               group.named(to), expected));
}

Error interrupted(const Error& why, const Error::Where& where) {
    return why.code() == ErrorCode::aborted ? ended_before(why, where.group)
                                            : failure(why.code(), where, why.ranks(), why.what());
}

Error ended_before(const Error& why, const std::string& group) {
    return {ErrorCode::aborted,
            fmt::format("group {} has ended: {}; make a new one of the ranks that are left", group, why.what()),
            why.ranks(),
            {why.op(), why.sequence(), group}};
}

Error::Where where(const Call& call, const std::string& group) {
    if (call.part_of) return where(*call.part_of, group);
    const Call& program_call = call.announced ? *call.announced : call;
    return {program_call.monitored ? "monitored_barrier" : name_of(program_call.op), program_call.sequence, group};
}

Error failure(ErrorCode code, const Error::Where& where, std::vector<int> ranks, const std::string& what) {
    const std::string number = where.sequence > 0 ? fmt::format(" #{}", where.sequence) : "";
    return {code, fmt::format("{}{} in group {}: {}", where.op, number, where.group, what), std::move(ranks), where};
}

std::string one_line(std::string_view text) {
    std::string line;
    for (const std::string_view part : base::split(text, '\n'))
        if (const std::string_view words = base::trimmed(part); !words.empty())
            line.append(line.empty() ? "" : "; ").append(words);
    return line;
}

Error aborted(const GroupInfo& group, const std::string& why) {
    return {ErrorCode::aborted,
            fmt::format("rank {}: {}", group.named(group.rank), one_line(why)),
            {group.rank},
            {"", 0, group.name}};
}

std::vector<std::byte> allocate_unexpected(const GroupInfo& group, int from, std::size_t bytes) {
    try {
        return std::vector<std::byte>(bytes);
    } catch (const std::bad_alloc&) {
        throw Error(
            ErrorCode::backend,
            fmt::format("rank {} has no memory for the {} bytes that rank {} sent before what is to be received",
                        group.named(group.rank), bytes, group.named(from)),
            {group.rank}, {});
    }
}

std::string describe(std::chrono::nanoseconds duration) {
    const double seconds = std::chrono::duration<double>(duration).count();
    return seconds >= 1 ? fmt::format("{:.3g} s", seconds) : fmt::format("{:.3g} ms", seconds * 1000);
}

}  // namespace dlaunch::worker
