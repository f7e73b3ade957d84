/// Three steps: an all_gather of signatures, with up to kInlineBytes of data, on each host; an all_gather among the
/// hosts' leaders of each host's first mismatch and combined data; a broadcast of the result on each host. All ranks
/// then hold the same summaries, find the same first mismatch with rank 0, and throw the same text.

#include "worker_lib/src/hierarchy/agreement.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "worker_lib/src/reduce/kernels.hpp"

namespace dlaunch::worker::hierarchy {
namespace {

constexpr std::size_t kInlineBytes = 216;

struct Frame {
    Signature signature;
    std::array<std::byte, kInlineBytes> data{};
};
static_assert(sizeof(Frame) == 256);

/// The summary of one host.
struct HostFrame {
    Signature first, odd;  // of the host's lowest rank; of its first rank with another signature
    std::int64_t odd_rank = -1;
    std::array<std::byte, kInlineBytes> data{};
};

Call bytes_call(Op op, const void* in, void* out, std::size_t count) {
    Call call;
    call.op = op;
    call.in = static_cast<const std::byte*>(in);
    call.out = static_cast<std::byte*>(out);
    call.count = count;
    return call;
}

void combine(const Call& call, ReduceOp op, void* out, std::vector<const void*> in) {
    kernel(call.type, op)(out, in.data(), static_cast<int>(in.size()), call.count, op.factor(), 1);
}

class Agreement {
public:
    Agreement(Levels& levels, const Call& call, const Call& whole)
        : levels_(levels), layout_(levels.layout), call_(call), whole_(whole), bytes_(whole.bytes(whole.count)) {
        const bool sums = whole.op == Op::all_reduce || whole.op == Op::reduce;
        const std::size_t most = whole.op == Op::all_gather ? bytes_ * static_cast<std::size_t>(layout_.most) : bytes_;
        small_ = (sums || whole.op == Op::broadcast || (whole.op == Op::all_gather && whole.counts.empty())) &&
                 most <= kInlineBytes && !whole.function;
    }

    void exchange() {
        Frame own;
        own.signature = Signature(call_);
        if (small_ && bytes_ > 0 && whole_.in) std::memcpy(own.data.data(), whole_.in, bytes_);
        ranks_.resize(layout_.on(levels_.host).size());
        levels_.on_host(bytes_call(Op::all_gather, &own, ranks_.data(), sizeof own), 0);
        hosts_.resize(static_cast<std::size_t>(layout_.hosts()));
        if (levels_.local == 0) {
            const HostFrame summary = summarize();
            levels_.between_hosts(bytes_call(Op::all_gather, &summary, hosts_.data(), sizeof summary));
        }
        Call show = bytes_call(Op::broadcast, hosts_.data(), hosts_.data(), hosts_.size() * sizeof(HostFrame));
        show.root = 0;
        levels_.on_host(show, 2);
    }

    void compare(const GroupInfo& group) const {
        int odd = -1;
        Signature differs;
        const auto take = [&](int rank, const Signature& signature) {
            if (odd < 0 || rank < odd) odd = rank, differs = signature;
        };
        for (int h = 0; h < layout_.hosts(); ++h) {
            const HostFrame& summary = hosts_[static_cast<std::size_t>(h)];
            if (summary.first != hosts_[0].first)
                take(layout_.on(h)[0], summary.first);
            else if (summary.odd_rank >= 0)
                take(static_cast<int>(summary.odd_rank), summary.odd);
        }
        if (odd >= 0) throw mismatch(0, hosts_[0].first, odd, differs, group);
    }

    [[nodiscard]] bool done() const {
        if (call_.op == Op::barrier) return true;
        if (!small_) return false;
        if (bytes_ == 0) return true;
        if (whole_.op == Op::broadcast) {
            const int host = layout_.host_of[static_cast<std::size_t>(whole_.root)];
            if (whole_.root != levels_.rank) std::memcpy(whole_.out, data_of(host), bytes_);
        } else if (whole_.op == Op::all_gather) {
            for (std::size_t r = 0; r < layout_.host_of.size(); ++r)
                std::memcpy(whole_.out + r * bytes_,
                            data_of(layout_.host_of[r]) + static_cast<std::size_t>(layout_.local_of[r]) * bytes_,
                            bytes_);
        } else if (whole_.root < 0 || whole_.root == levels_.rank) {
            std::vector<const void*> parts;
            for (int h = 0; h < layout_.hosts(); ++h) parts.push_back(data_of(h));
            combine(whole_, between_hosts(whole_.reduce), whole_.out, parts);
            finish(whole_, static_cast<int>(layout_.host_of.size()), whole_.out, whole_.count);
        }
        return true;
    }

private:
    [[nodiscard]] const std::byte* data_of(int host) const {
        return hosts_[static_cast<std::size_t>(host)].data.data();
    }

    [[nodiscard]] HostFrame summarize() const {
        HostFrame summary;
        summary.first = ranks_[0].signature;
        const auto odd = std::find_if(ranks_.begin(), ranks_.end(),
                                      [&](const Frame& frame) { return frame.signature != summary.first; });
        if (odd != ranks_.end()) {
            summary.odd = odd->signature;
            summary.odd_rank = layout_.on(levels_.host)[static_cast<std::size_t>(odd - ranks_.begin())];
            return summary;
        }
        if (!small_ || bytes_ == 0) return summary;
        if (whole_.op == Op::all_gather) {
            for (std::size_t i = 0; i < ranks_.size(); ++i)
                std::memcpy(summary.data.data() + i * bytes_, ranks_[i].data.data(), bytes_);
        } else if (whole_.op == Op::broadcast) {
            const auto root = static_cast<std::size_t>(whole_.root);
            if (layout_.host_of[root] == levels_.host)
                summary.data = ranks_[static_cast<std::size_t>(layout_.local_of[root])].data;
        } else {
            std::vector<const void*> parts;
            for (const Frame& frame : ranks_) parts.push_back(frame.data.data());
            combine(whole_, on_host(whole_.reduce), summary.data.data(), parts);
        }
        return summary;
    }

    Levels& levels_;
    const Layout& layout_;
    const Call &call_, &whole_;
    const std::size_t bytes_;
    bool small_ = false;
    std::vector<Frame> ranks_;  // of this host
    std::vector<HostFrame> hosts_;
};

}  // namespace

bool agree(Levels& levels, const Call& call, const Call& whole, const GroupInfo& group) {
    Agreement agreement(levels, call, whole);
    agreement.exchange();
    agreement.compare(group);
    return agreement.done();
}

ReduceOp on_host(ReduceOp op) { return op.kind() == ReduceOp::Kind::avg ? ReduceOp::sum() : op; }

ReduceOp between_hosts(ReduceOp op) {
    const bool is_sum = op.kind() == ReduceOp::Kind::avg || op.kind() == ReduceOp::Kind::premul_sum;
    return is_sum ? ReduceOp::sum() : op;
}

void finish(const Call& call, int ranks, std::byte* data, std::size_t count) {
    const void* in = data;
    if (call.reduce.kind() == ReduceOp::Kind::avg && count > 0)
        kernel(call.type, call.reduce)(data, &in, 1, count, 1, ranks);
}

}  // namespace dlaunch::worker::hierarchy
