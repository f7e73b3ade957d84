#pragma once
/// Who has which part of what is moved between hosts.

#include <cstddef>
#include <span>
#include <vector>

#include "worker_lib/src/hierarchy/levels.hpp"

namespace dlaunch::worker::hierarchy {

using Counts = std::vector<std::size_t>;

/// A part of something that is counted in elements.
struct Range {
    std::size_t begin = 0, size = 0;
};

/// Part `number` of `count` elements in `parts` parts of nearly the same size.
[[nodiscard]] inline Range share(std::size_t count, int parts, int number) {
    const auto n = static_cast<std::size_t>(parts), i = static_cast<std::size_t>(number);
    const std::size_t each = count / n, more = count % n;
    return {each * i + std::min(i, more), each + (i < more ? 1 : 0)};
}

/// A buffer with a block for each rank, in which the blocks of a host's ranks count as one behind the other.
class Blocks {
public:
    Blocks(const Layout& layout, const Call& call);

    /// Elements of all blocks of a host, and of the part of them that a rail carries.
    [[nodiscard]] std::size_t of_host(int host) const { return of_hosts_[static_cast<std::size_t>(host)]; }
    [[nodiscard]] std::size_t on_rail(int rail, int host) const { return part(rail, host).size; }
    /// Of all hosts, by rail; 0 for local ranks that have none.
    [[nodiscard]] Counts by_rail(int local_size) const;
    /// Copies a rail's part of a host's blocks to `packed`, or from there.
    void pack(const std::byte* whole, int rail, int host, std::byte* packed) const;
    void unpack(const std::byte* packed, int rail, int host, std::byte* whole) const;

private:
    [[nodiscard]] Range part(int rail, int host) const { return share(of_host(host), layout_.rails, rail); }
    template <class Copy>
    void for_each_piece(int rail, int host, Copy copy) const;

    const Layout& layout_;
    const std::size_t element_;
    Counts sizes_, begins_;  // of the ranks' blocks in the whole
    Counts of_hosts_;
};

}  // namespace dlaunch::worker::hierarchy
