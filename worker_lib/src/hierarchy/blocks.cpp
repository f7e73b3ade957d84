#include "worker_lib/src/hierarchy/blocks.hpp"

#include <algorithm>
#include <cstring>

namespace dlaunch::worker::hierarchy {

Blocks::Blocks(const Layout& layout, const Call& call)
    : layout_(layout), element_(size_of(call.type)), of_hosts_(static_cast<std::size_t>(layout.hosts())) {
    std::size_t begin = 0;
    for (std::size_t r = 0; r < layout.host_of.size(); ++r) {
        const std::size_t count = call.count_of(static_cast<int>(r));
        sizes_.push_back(count);
        begins_.push_back(begin);
        begin += count;
        of_hosts_[static_cast<std::size_t>(layout.host_of[r])] += count;
    }
}

Counts Blocks::by_plane(int local_size) const {
    Counts counts(static_cast<std::size_t>(local_size));
    for (int plane = 0; plane < layout_.planes; ++plane)
        for (int host = 0; host < layout_.hosts(); ++host)
            counts[static_cast<std::size_t>(plane)] += on_plane(plane, host);
    return counts;
}

/// Calls copy(offset in the whole, offset in the packed part, size) for each piece, in bytes.
template <class Copy>
void Blocks::for_each_piece(int plane, int host, Copy copy) const {
    const Range wanted = part(plane, host);
    std::size_t at = 0, packed = 0;  // of the host's blocks as one
    for (const int rank : layout_.on(host)) {
        const auto r = static_cast<std::size_t>(rank);
        const std::size_t begin = std::max(at, wanted.begin),
                          end = std::min(at + sizes_[r], wanted.begin + wanted.size);
        if (begin < end) {
            copy((begins_[r] + begin - at) * element_, packed * element_, (end - begin) * element_);
            packed += end - begin;
        }
        at += sizes_[r];
    }
}

void Blocks::pack(const std::byte* whole, int plane, int host, std::byte* packed) const {
    for_each_piece(plane, host, [&](std::size_t from, std::size_t to, std::size_t bytes) {
        std::memcpy(packed + to, whole + from, bytes);
    });
}

void Blocks::unpack(const std::byte* packed, int plane, int host, std::byte* whole) const {
    for_each_piece(plane, host, [&](std::size_t to, std::size_t from, std::size_t bytes) {
        std::memcpy(whole + to, packed + from, bytes);
    });
}

}  // namespace dlaunch::worker::hierarchy
