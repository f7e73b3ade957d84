#pragma once
/// A file that gets its name in a shared folder when its content is complete.

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::rendezvous {

/// Lies beside the final names as `<prefix>part.XXXXXX` as long as this object lives. A process that is killed leaves
/// its part there; the next part with the same prefix removes it. Calls block as long as the file server does.
class PartFile {
public:
    explicit PartFile(std::string prefix) : prefix_(std::move(prefix)) {}
    ~PartFile();
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;

    /// Precedes all other calls. Removes other parts that are older than a minute.
    [[nodiscard]] base::Result<void> create();
    /// Time of the creation since 1970, by the file server's clock.
    [[nodiscard]] std::int64_t created_at_ms() const { return created_at_ms_; }
    /// Returns when the content is on the disk.
    [[nodiscard]] base::Result<void> write(const std::string& content);
    /// Gives the file its name. False: another process was first.
    [[nodiscard]] base::Result<bool> link_as(const std::string& name) const;
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    void remove_old_parts() const;

    std::string prefix_, path_;
    base::UniqueFd file_;
    std::int64_t created_at_ms_ = 0;
};

/// Since 1970, by the file server's clock.
[[nodiscard]] std::int64_t modified_at_ms(const struct stat& file);

}  // namespace dlaunch::rendezvous
