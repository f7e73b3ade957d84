// A query of NETLINK_SOCK_DIAG by the exact addresses and ports costs 20 us for any number of sockets, and finds a
// socket of IPv6 with an IPv4 address, too. Sandboxes may refuse it; then the tables in /proc are read.

#include "rendezvous/base/peer_uid.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::base {
namespace {

constexpr std::size_t kHead = NLMSG_ALIGN(sizeof(nlmsghdr));

/// Both ends of a connection, as its other end sees them.
struct Ends {
    sockaddr_storage source{}, target{};
};

std::optional<Ends> other_side(int socket) {
    Ends ends;
    socklen_t size = sizeof ends.source;
    if (getpeername(socket, reinterpret_cast<sockaddr*>(&ends.source), &size) != 0) return std::nullopt;
    size = sizeof ends.target;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&ends.target), &size) != 0) return std::nullopt;
    return ends;
}

/// An address as the kernel's tables have it: IPv4 in the first word. Network byte order.
struct Place {
    std::array<std::uint32_t, 4> words{};
    std::uint16_t port = 0;
    bool is_six = false;
};

Place place_of(const sockaddr_storage& address) {
    Place place;
    if (address.ss_family == AF_INET) {
        const auto& four = reinterpret_cast<const sockaddr_in&>(address);
        place.words[0] = four.sin_addr.s_addr;
        place.port = four.sin_port;
        return place;
    }
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    place.port = six.sin6_port;
    if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
        std::memcpy(place.words.data(), six.sin6_addr.s6_addr + 12, 4);
        return place;
    }
    place.is_six = true;
    std::memcpy(place.words.data(), &six.sin6_addr, sizeof six.sin6_addr);
    return place;
}

/// False: the kernel refuses such queries.
bool ask_kernel(const Place& source, const Place& target, std::optional<uid_t>& uid) {
    const UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!netlink) return false;
    struct {
        nlmsghdr head;
        inet_diag_req_v2 body;
    } request{};
    request.head.nlmsg_len = sizeof request;
    request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.head.nlmsg_flags = NLM_F_REQUEST;
    request.body.sdiag_family = source.is_six ? AF_INET6 : AF_INET;
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_states = ~0U;
    request.body.id.idiag_sport = source.port;
    request.body.id.idiag_dport = target.port;
    std::memcpy(request.body.id.idiag_src, source.words.data(), sizeof request.body.id.idiag_src);
    std::memcpy(request.body.id.idiag_dst, target.words.data(), sizeof request.body.id.idiag_dst);
    request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (send(netlink.get(), &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return false;
    alignas(nlmsghdr) std::array<char, 4096> answer;
    const ssize_t got = recv(netlink.get(), answer.data(), answer.size(), 0);
    if (got < static_cast<ssize_t>(sizeof(nlmsghdr))) return false;
    const auto* const head = reinterpret_cast<const nlmsghdr*>(answer.data());
    if (head->nlmsg_type == NLMSG_ERROR) {
        nlmsgerr error{};
        if (head->nlmsg_len < kHead + sizeof error) return false;
        std::memcpy(&error, answer.data() + kHead, sizeof error);
        return error.error == -ENOENT;  // there is no such socket
    }
    if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY || head->nlmsg_len < kHead + sizeof(inet_diag_msg)) return false;
    inet_diag_msg found{};
    std::memcpy(&found, answer.data() + kHead, sizeof found);
    if (found.idiag_inode != 0) uid = found.idiag_uid;  // a closed socket has no owner
    return true;
}

/// "0100007F:1F90", as /proc/net/tcp has it; "0000000000000000FFFF00000100007F:1F90", as /proc/net/tcp6.
std::string text_of(const Place& place, bool six) {
    std::string text;
    const bool is_mapped = six && !place.is_six;
    const std::array<std::uint32_t, 4> words =
        is_mapped ? std::array<std::uint32_t, 4>{0, 0, htonl(0xFFFF), place.words[0]} : place.words;
    for (std::size_t at = 0; at < (six ? 4U : 1U); ++at) text += fmt::format("{:08X}", words[at]);
    return text + fmt::format(":{:04X}", ntohs(place.port));
}

std::optional<uid_t> look_up(const std::string& table, const Place& source, const Place& target, bool six) {
    const std::string text = base::text_of(table), from = text_of(source, six), to = text_of(target, six);
    for (const std::string_view line : split(text, '\n')) {
        if (line.find(from + " " + to) == std::string_view::npos) continue;
        std::array<std::string_view, 10> fields;  // the uid is the eighth, the inode the tenth
        std::size_t count = 0;
        for (const std::string_view field : split(line, ' '))
            if (!field.empty() && count < fields.size()) fields[count++] = field;
        uid_t uid = 0;
        if (count < fields.size() || fields[9] == "0") continue;
        const auto end = std::from_chars(fields[7].data(), fields[7].data() + fields[7].size(), uid);
        if (end.ec == std::errc()) return uid;
    }
    return std::nullopt;
}

}  // namespace

std::optional<uid_t> peer_uid_in_tables(int socket, const std::string& root) {
    const auto ends = other_side(socket);
    if (!ends) return std::nullopt;
    const Place source = place_of(ends->source), target = place_of(ends->target);
    if (!source.is_six)
        if (const auto uid = look_up(root + "/proc/net/tcp", source, target, false)) return uid;
    return look_up(root + "/proc/net/tcp6", source, target, true);
}

std::optional<uid_t> peer_uid(int socket) {
    const auto ends = other_side(socket);
    if (!ends) return std::nullopt;
    std::optional<uid_t> uid;
    if (ask_kernel(place_of(ends->source), place_of(ends->target), uid)) return uid;
    return peer_uid_in_tables(socket);
}

}  // namespace dlaunch::base
