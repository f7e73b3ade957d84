#pragma once
/// The partition of buffers among planes for transfers between hosts.

#include <cstddef>
#include <span>
#include <vector>

#include "worker_lib/src/hierarchy/levels.hpp"

namespace dlaunch::worker::hierarchy {

using Counts = std::vector<std::size_t>;

/// A range of elements.
struct Range {
    std::size_t begin = 0, size = 0;
};

/// Part `number` of `count` elements that are split into `parts` parts; sizes differ by at most one.
[[nodiscard]] inline Range share(std::size_t count, int parts, int number) {
    const auto n = static_cast<std::size_t>(parts), i = static_cast<std::size_t>(number);
    const std::size_t each = count / n, more = count % n;
    return {each * i + std::min(i, more), each + (i < more ? 1 : 0)};
}

/// A buffer with one block per rank. The blocks of a host's ranks are treated as one contiguous sequence, which the
/// planes share.
class Blocks {
public:
    Blocks(const Layout& layout, const Call& call);

    /// Number of elements in a host's blocks; and in the part of them that a plane carries.
    [[nodiscard]] std::size_t of_host(int host) const { return of_hosts_[static_cast<std::size_t>(host)]; }
    [[nodiscard]] std::size_t on_plane(int plane, int host) const { return part(plane, host).size; }
    /// Elements per plane over all hosts, by local rank; 0 for local ranks without a plane.
    [[nodiscard]] Counts by_plane(int local_size) const;
    /// Copy a plane's part of a host's blocks to or from contiguous memory.
    void pack(const std::byte* whole, int plane, int host, std::byte* packed) const;
    void unpack(const std::byte* packed, int plane, int host, std::byte* whole) const;

private:
    [[nodiscard]] Range part(int plane, int host) const { return share(of_host(host), layout_.planes, plane); }
    template <class Copy>
    void for_each_piece(int plane, int host, Copy copy) const;

    const Layout& layout_;
    const std::size_t element_;
    Counts sizes_, begins_;  // of the ranks' blocks in the whole
    Counts of_hosts_;
};

}  // namespace dlaunch::worker::hierarchy
