#pragma once
/// The calls of a Mixer as bytes: a node's dlaunch sends them to the front end, whose LiveMixer shows the workers of
/// all nodes. Each record is a line of one letter and numbers, and as many bytes as LENGTH:
///
///     A ID RANK STREAM APART LENGTH    a source; its prefix
///     F ID LENGTH                      bytes of a source
///     E ID                             the end of a source
///     P LENGTH                         text of dlaunch
///     J WORKERS ALIVE RESTARTS MAX_RESTARTS NODES WANTED_NODES

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/byte_queue.hpp"
#include "agent/logs/mixer.hpp"

namespace dlaunch::agent {

/// Merges nothing: writes each call as a record.
class RelayMixer final : public Mixer {
public:
    explicit RelayMixer(ByteQueue& out);
    ~RelayMixer() override;

    void expect(int /*local_rank*/, int /*stream*/) override {}
    void end_round(base::Time /*now*/) override {}
    [[nodiscard]] Source* add(LineSource source) override;
    void feed(Source* source, std::string_view bytes, base::Time now) override;
    void end(Source* source, base::Time now) override;
    [[nodiscard]] bool must_wait(const Source* /*source*/) const override { return false; }
    [[nodiscard]] bool take_released() override { return false; }
    [[nodiscard]] bool coalesces() const override { return false; }
    void print(std::string_view text, base::Time now) override;
    [[nodiscard]] std::optional<base::Time> deadline() const override { return std::nullopt; }
    void advance(base::Time /*now*/) override {}
    void show_progress(const JobProgress& progress) override;

private:
    struct Stream;

    ByteQueue& out_;
    std::vector<std::unique_ptr<Stream>> streams_;
    int last_id_ = 0;
};

/// Reads the records, which may be split anywhere. Memory is bounded.
class RelayReader {
public:
    class Handler {
    public:
        virtual ~Handler() = default;
        virtual void on_add(int /*id*/, LineSource /*source*/) {}
        virtual void on_bytes(int /*id*/, std::string_view /*bytes*/) {}
        virtual void on_end(int /*id*/) {}
        virtual void on_text(std::string_view /*text*/) {}
        virtual void on_progress(const JobProgress& /*progress*/) {}
    };

    /// Bytes that are no records are dropped, and so is all that follows them.
    void feed(std::string_view bytes, Handler& handler);

private:
    [[nodiscard]] bool begin_record();
    void end_record(Handler& handler);

    std::string head_;  ///< the line so far
    char kind_ = 0;     ///< of the record whose bytes are read; 0: none
    std::array<int, 6> numbers_{};
    std::size_t left_ = 0;  ///< bytes of the record
    std::string bytes_;     ///< of a record that is passed on as a whole
    bool is_broken_ = false;
};

}  // namespace dlaunch::agent
