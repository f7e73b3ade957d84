#include "agent/membership/hosting.hpp"

#include <cstring>
#include <string>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/coordinate/record_file.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::agent {

base::Result<base::UniqueFd> host_in_guard(GuardLink& guard, const rendezvous::CoordinatorJob& job,
                                           const std::vector<store::Listener>& listeners, bool only) {
    std::string encoded = rendezvous::encode(job);
    auto bytes = rendezvous::make_memory_file("dlaunch-job", encoded);
    explicit_bzero(encoded.data(), encoded.size());
    if (!bytes) return bytes.error();
    auto record = rendezvous::make_memory_file("dlaunch-record", {});
    if (!record) return record.error();
    std::vector<int> sockets;
    for (const store::Listener& listener : listeners) sockets.push_back(listener.socket.get());
    if (!guard.host_coordinator(bytes->get(), record->get(), sockets, only))
        return base::Error{"the coordinator process cannot be started", exit_status::kCannotExecute};
    return std::move(*record);
}

std::optional<rendezvous::Verdict> recorded_verdict(const GuardLink& guard) {
    if (guard.record() < 0) return std::nullopt;
    const auto snapshot = wire::decode_snapshot(rendezvous::read_record(guard.record()));
    return snapshot ? snapshot->verdict : std::nullopt;
}

}  // namespace dlaunch::agent
