#pragma once
/// The view of several workers on one terminal, in place of LineMixer:
///
///     [0-3] epoch 1                       lines, which scroll; equal lines of several ranks are one
///     [2] Traceback ...                   the stderr of a rank within a short time stays together
///     [0]  50%|#####     | 20/40          the block: unfinished lines in place,
///     [1]  45%|####      | 18/40
///     0:12 | 4 of 4 workers alive         and the status line
///
/// Nothing of a worker reaches the terminal but text and colours; OpenRows applies the rest to the worker's own lines.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/byte_queue.hpp"
#include "agent/logs/coalescer.hpp"
#include "agent/logs/live/open_rows.hpp"
#include "agent/logs/live/painter.hpp"
#include "agent/logs/live/progress_line.hpp"
#include "agent/logs/live/rows.hpp"
#include "agent/logs/mixer.hpp"
#include "agent/process/window_size.hpp"

namespace dlaunch::agent {

class LiveMixer final : public Mixer {
public:
    struct Rules {
        std::function<std::string(const std::vector<int>& local_ranks)> prefix;  ///< "[0-3] "
        std::function<std::string(const std::vector<int>& local_ranks)> ranks;   ///< "ranks 0-3"
        std::function<std::string()> stamp{};                                    ///< before every prefix; may be empty
        bool colours = true;
        base::Duration block_pause = std::chrono::milliseconds(50);   ///< silence that ends a block of stderr
        base::Duration block_lasts = std::chrono::milliseconds(500);  ///< at most
        base::Duration between_draws = std::chrono::milliseconds(33);
        base::Duration text_waits =
            std::chrono::milliseconds(10);  ///< for the block below it, both in one write; much text not at all
        base::Duration between_looks = std::chrono::milliseconds(200);  ///< at the terminal's size
        base::Duration silence = std::chrono::seconds(2);               ///< a shorter one is not shown
        base::Duration begins_after = std::chrono::milliseconds(300);   ///< without a block in short jobs
        base::Time began{};                                             ///< of the job
    };
    static constexpr std::size_t kMostRows = 8;
    static constexpr std::size_t kMuchText = 4 << 10;
    static constexpr std::size_t kMostBlockBytes = 64 << 10;

    LiveMixer(Rules rules, ByteQueue& out);
    ~LiveMixer() override;

    void expect(int local_rank, int stream) override;
    void end_round(base::Time now) override;
    [[nodiscard]] Source* add(LineSource source) override;
    void feed(Source* source, std::string_view bytes, base::Time now) override;
    void end(Source* source, base::Time now) override;
    [[nodiscard]] bool must_wait(const Source* source) const override;
    [[nodiscard]] bool take_released() override;
    [[nodiscard]] bool coalesces() const override { return true; }
    void print(std::string_view text, base::Time now) override;
    [[nodiscard]] std::optional<base::Time> deadline() const override;
    void advance(base::Time now) override;

    [[nodiscard]] bool must_compose(base::Time now) const override;
    [[nodiscard]] bool waits_for_view(base::Time now) const override;
    void compose(base::Time now) override;
    void resize(WindowSize size) override;
    void show_progress(const JobProgress& progress) override;
    void show_notice(std::string text) override;
    /// Erases the block, and shows none until resume().
    void pause() override;
    /// First shows the lines that wait for other ranks. Lines that a writer may still change wait until resume().
    void suspend(base::Time now) override;
    void resume() override;

private:
    struct Stream;

    void take(Stream& stream, std::string_view lines, base::Time now);
    void end_block(Stream& stream, base::Time now);
    void end_blocks(base::Time now, bool all);
    void show_coalesced(base::Time now);
    void show_held(base::Time now);
    void emit(const Coalescer::Line& line);
    void emit(const std::string& prefix, std::string_view lines);
    [[nodiscard]] std::string painted_prefix(const std::vector<int>& local_ranks) const;
    [[nodiscard]] std::string prefix_of(const Stream& stream) const;
    [[nodiscard]] std::vector<OpenLine> open_lines() const;
    [[nodiscard]] const Stream* typed_at() const;
    [[nodiscard]] std::vector<PaintedRow> rows(base::Time now) const;
    [[nodiscard]] Silence longest_silence(base::Time now) const;
    [[nodiscard]] base::Time next_draw() const;

    Rules rules_;
    ByteQueue& out_;
    Painter painter_;
    WindowSize size_;
    std::array<Coalescer, 2> coalescers_;
    std::vector<std::unique_ptr<Stream>> streams_;
    JobProgress progress_;
    std::string notice_;
    std::vector<int> prefixed_ranks_;  ///< of the last coalesced line: caches prefix_
    std::string prefix_;
    base::Time drawn_at_{}, looked_at_{};
    std::uint64_t changes_ = 0;
    std::uint64_t typed_change_ = 0;  ///< of the drawn line at whose end the user types
    bool is_changed_ = true;          ///< the block is not as it was drawn
    std::size_t text_bytes_ = 0;      ///< of the text that has taken the place of the block
    bool is_paused_ = false, is_suspended_ = false;
};

}  // namespace dlaunch::agent
