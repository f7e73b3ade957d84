#pragma once

#include <mutex>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/store/client/local_core.hpp"
#include "rendezvous/store/client/protocol_store.hpp"

namespace dlaunch::store {

/// A store in a shared file, also on a network file system if fcntl() locks work there. Safe for any number of threads
/// and processes.
///
/// The file is a log: the greeting of the wire protocol, then each request that changed the store, in its wire
/// encoding. Every process replays the log in a core of its own, so all agree; it appends under an exclusive lock,
/// after it has read the whole log. The next writer cuts off a record that a crashed writer left incomplete. Waiting is
/// polling, first after a millisecond, then less and less often. The file only grows, and its users remove it; each job
/// needs a new one.
class FileStore final : public ProtocolStore {
public:
    /// Creates the file if it is missing.
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
    Slot others_ = 0;                    // the core's connection for requests from the log
    std::uint64_t read_ = 0;             // bytes of the file that core_ has executed
    std::optional<base::Error> broken_;  // core_ and the file may differ
};

}  // namespace dlaunch::store
