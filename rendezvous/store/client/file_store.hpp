#pragma once

#include <mutex>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/store/client/local_core.hpp"
#include "rendezvous/store/client/protocol_store.hpp"

namespace dlaunch::store {

/// A store in a file that its users share, over a network file system too as long as fcntl() locks work there. Any
/// number of threads and processes at a time.
///
/// The file is a log: the magic of the wire protocol, then each request that changed something, in its wire encoding.
/// Every user carries the log out in a core of its own, so all agree; a user adds to the log under an exclusive lock,
/// after it has read all there is. A request that its writer left half written is cut off by the next one. Nobody is
/// told of a change: who waits looks again, after a millisecond first, then less and less often. The file only grows;
/// removing it is the users' business, and a new job wants a new file.
class FileStore final : public ProtocolStore {
public:
    /// Makes the file if it is not there.
    static Result<std::unique_ptr<FileStore>> open(const std::string& path);

protected:
    Result<std::string> exchange(const wire::Request& request, Time deadline) override;
    Result<void> await(const wire::Request& request, Time deadline) override;

private:
    FileStore(std::string path, base::UniqueFd file);
    Result<LocalCore::Reply> carry_out(Slot call, const wire::Request& request, Time deadline);
    Result<void> lock(const wire::Request& request, Time deadline);
    void unlock();
    Result<void> catch_up();
    Result<void> replay(std::string_view bytes);
    Result<void> write_down(const wire::Request& request);
    void decode_from_here();
    [[nodiscard]] base::Error failed(const char* what, int number) const;

    const std::string path_;
    const base::UniqueFd file_;
    std::mutex mutex_;
    std::unique_ptr<LocalCore> core_;
    std::unique_ptr<wire::Decoder> decoder_;
    Slot others_ = 0;                    // whose requests those in the file are
    std::uint64_t read_ = 0;             // this much of the file is in core_
    std::optional<base::Error> broken_;  // core_ and the file may differ from now on
};

}  // namespace dlaunch::store
