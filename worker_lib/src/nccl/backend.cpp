#include "worker_lib/src/nccl/backend.hpp"

#include <fmt/format.h>

#include <cstring>

#include "worker_lib/src/nccl/nccl_backend.hpp"
#include "worker_lib/src/reduce/combine.hpp"

namespace dlaunch::worker::nccl {
namespace {

/// Number of signatures to keep: the largest distance between ranks for which a mismatch can be diagnosed.
constexpr std::size_t kHistory = 1024;
/// How long the destructor waits for the other ranks to complete their part of ncclCommFinalize.
constexpr auto kLeaveTimeout = std::chrono::seconds(5);

}  // namespace

NcclBackend::NcclBackend(const GroupParts& parts)
    : group_(parts.info()), store_(parts.store.below("nccl")), options_(parts.nccl) {}

NcclBackend::~NcclBackend() {
    for (std::unique_lock lock(mutex_); !pending_.empty() && !why_;) {
        const Work last = pending_.back();
        lock.unlock();
        last->wait_until(last->deadline);
        lock.lock();
        std::erase_if(pending_, [](const Work& work) { return work->done(); });
    }
    {
        const std::lock_guard lock(mutex_);
        leaving_ = true;
        changed_.notify_all();
    }
    if (watchdog_.joinable()) watchdog_.join();
    if (gpu_) {
        leave();
        dispose();
    }
    for (const auto id : watches_) PidWatcher::instance().unwatch(id);
}

void NcclBackend::leave() {
    const Gpu::InUse in_use(*gpu_, std::nothrow);
    if (!communicator_ || why_ || in_use.failed()) return;
    // A rank that waits for a call which this rank will never make reads the record, gives up, and its failure notice
    // ends the wait below.
    if (group_.size > 1)
        notice_->publish_calls({.last = history_.empty() ? 0 : history_.back().sequence, .left = true, .calls = {}});
    communicator_->leave([this, soon = Clock::now() + kLeaveTimeout] {
        const std::lock_guard lock(mutex_);
        if (reported_ || Clock::now() >= soon) throw std::runtime_error("the other ranks have not finalized in time");
    });
}

/// Releases what the GPU may still use, in a thread: an abort and cuMemFree wait for the GPU. After CUDA has shut down
/// the driver has released it already, and the communicator is left as it is.
void NcclBackend::dispose() {
    struct Remains {
        Gpu gpu;
        Stream stream;
        std::shared_ptr<Communicator> communicator;
        std::unique_ptr<Memory> byte;
        Scratch in, out, gathered;
    };
    const auto remains = std::make_shared<Remains>(Remains{*gpu_, stream_, std::move(communicator_), std::move(byte_),
                                                           std::move(in_), std::move(out_), std::move(gathered_)});
    (void)has_ended(run_in_background([remains] {
        if (remains->communicator) {
            remains->communicator->abort();
            remains->communicator->aborted().wait();
        }
        const Gpu::InUse in_use(remains->gpu, std::nothrow);
        if (in_use.failed()) return;
        if (remains->stream) cuda().destroy_stream(remains->stream);
        remains->byte.reset();  // after the abort: a barrier may have used it
        for (Scratch* scratch : {&remains->in, &remains->out, &remains->gathered}) *scratch = {};
    }));
}

void NcclBackend::run(const Call& call) {
    check_usable();
    const Gpu::InUse in_use(*gpu_);
    if (call.op != Op::barrier && call.device == Device::cpu) return run_copied(call);
    check_device_part(call);
    if (!is_native(call)) {
        if (!call.is_in_pieces()) return combine(call);
        for (const MutableBuffer& piece : *call.pieces) combine(call.of(piece));
        return;
    }
    const Work work = start(call);
    if (call.op == Op::barrier)
        work->wait_until(Time::max());
    else
        work->join();
    work->rethrow();
}

std::shared_ptr<WorkState> NcclBackend::enqueue(const Call& call) {
    if (call.op == Op::barrier || call.device == Device::cpu || !is_native(call)) return nullptr;
    check_usable();
    const Gpu::InUse in_use(*gpu_);
    check_device_part(call);
    return start(call);
}

void NcclBackend::check_device_part(const Call& call) const {
    if (call.op == Op::barrier) return;
    const Error::Where unnumbered{name_of(call.op), 0, group_.name};
    check_stream(unnumbered, call.stream);
    if (call.is_in_pieces()) {
        for (const MutableBuffer& piece : *call.pieces) check_memory(unnumbered, "arrays", piece.data, piece.count);
        return;
    }
    const Extent elements = extent(call, group_.rank, group_.size);
    check_memory(unnumbered, "in", call.in, elements.in);
    if (call.out != call.in || elements.in == 0) check_memory(unnumbered, "out", call.out, elements.out);
}

void NcclBackend::check_stream(const Error::Where& where, Stream stream) const {
    if (const auto why = why_captured(stream)) throw failure(ErrorCode::invalid_argument, where, {}, *why);
}

void NcclBackend::check_memory(const Error::Where& where, const char* name, const void* data,
                               std::size_t elements) const {
    if (!checks_memory_ || elements == 0) return;
    if (const auto why = gpu_->why_unreachable(data))
        throw failure(ErrorCode::invalid_argument, where, {},
                      fmt::format("`{}` of rank {} is {}", name, group_.named(group_.rank), *why));
}

template <class Issue>
void NcclBackend::submit(const Error::Where& where, Issue&& issue) {
    try {
        communicator_->call([&](const NcclTable&, Comm comm) { return issue(channel(comm)); });
        communicator_->settle(unless_ended(where));
    } catch (const Failure& failure) {
        if (const auto notice = peer_notice()) end(*notice);
        unless_ended(where)();
        const Error error = translate(failure, where);
        notice_->publish(error);
        end(error);
        throw error;
    }
}

void NcclBackend::wait_for_caller(Stream callers) const {
    if (callers == stream_) return;
    const StreamEvent begin;
    begin.record(callers);
    begin.make_wait(stream_);
}

/// Enqueues `issue` on the channel's stream after all work of the caller's stream; the caller's stream waits in join().
template <class Issue>
NcclBackend::Work NcclBackend::start(const Call& call, Issue&& issue) {
    auto work = std::make_shared<StreamWork>(*gpu_, call.stream, where(call, group_.name), call.deadline.at());
    {
        const std::lock_guard lock(mutex_);
        history_.emplace_back(call);
        if (history_.size() > kHistory) history_.pop_front();
    }
    track(work);
    try {
        const std::lock_guard turn(launching_);
        if (call.op != Op::barrier) wait_for_caller(call.stream);
        submit(work->where, issue);
        work->record_end(stream_);
    } catch (...) {
        work->finish(std::current_exception());
        throw;
    }
    return work;
}

NcclBackend::Work NcclBackend::start(const Call& call) {
    Call given = call;
    if (call.op == Op::barrier) given.in = given.out = byte_->data();
    return start(call, [&](const Channel& channel) { return issue(channel, given); });
}

void NcclBackend::track(const Work& work) {
    const std::lock_guard lock(mutex_);
    if (why_) throw failure(why_->code(), work->where, why_->ranks(), why_->what());
    // Each new call removes up to two completed ones, which bounds the watchdog's queue.
    for (int i = 0; i < 2 && !pending_.empty() && pending_.front()->done(); ++i) pending_.pop_front();
    if (pending_.empty()) changed_.notify_all();
    pending_.push_back(work);
}

/// A call on host memory, staged through device memory.
void NcclBackend::run_copied(const Call& call) {
    const Extent elements = extent(call, group_.rank, group_.size);
    const bool in_place = call.in == call.out;
    const std::size_t in_bytes = call.bytes(elements.in), out_bytes = call.bytes(elements.out);
    std::byte* const in = in_.of(in_place ? std::max(in_bytes, out_bytes) : in_bytes);
    copy_to_device(in, call.in, in_bytes, stream_);
    Call there = call;
    there.pieces = nullptr;  // they are on the host
    there.device = Device::cuda;
    there.stream = stream_;
    there.in = in;
    there.out = in_place ? in : out_.of(out_bytes);
    if (is_native(call)) {
        const Work work = start(there);
        work->wait_until(Time::max());
        work->rethrow();
    } else {
        combine(there);
    }
    copy_to_host(call.out, there.out, out_bytes, stream_);
    cuda().check(cuda().synchronize_stream(stream_), "copy from the GPU");
}

/// A reduction that NCCL lacks: gathers the inputs in device memory and combines them on the host.
void NcclBackend::combine(const Call& call) {
    const std::size_t count = part_of(call, group_.rank), bytes = call.bytes(count);
    const auto ranks = static_cast<std::size_t>(group_.size);
    std::byte* const gathered = gathered_.of(bytes * ranks);
    const Work work = start(call, [&](const Channel& channel) { return issue_inputs(channel, call, gathered); });
    work->wait_until(Time::max());
    work->rethrow();
    if (bytes == 0 || (call.op == Op::reduce && call.root != group_.rank)) return;
    std::vector<std::byte> inputs(bytes * ranks), result(bytes);
    copy_to_host(inputs.data(), gathered, inputs.size(), stream_);
    cuda().check(cuda().synchronize_stream(stream_), "copy from the GPU");
    std::vector<const void*> parts;
    for (std::size_t r = 0; r < ranks; ++r) parts.push_back(inputs.data() + r * bytes);
    worker::combine(call, result.data(), parts.data(), group_.size, count, group_.size);
    copy_to_device(call.out, result.data(), bytes, stream_);
    cuda().check(cuda().synchronize_stream(stream_), "copy to the GPU");
}

std::shared_ptr<WorkState> NcclBackend::post(const Transfer& transfer) { return post(std::span(&transfer, 1)).front(); }

/// Posts all messages as one NCCL group, which completes as a whole; every work's event is recorded behind the group.
std::vector<std::shared_ptr<WorkState>> NcclBackend::post(std::span<const Transfer> transfers) {
    std::vector<Work> works;
    const Gpu::InUse in_use(*gpu_);
    for (const Transfer& one : transfers) {
        const Error::Where where{one.sends ? "send" : "recv", 0, group_.name};
        check_stream(where, one.stream);
        check_memory(where, one.sends ? "in" : "out", one.data, one.count);
    }
    try {
        check_usable();
        for (const Transfer& one : transfers) {
            const Error::Where where{one.sends ? "send" : "recv", 0, group_.name};
            works.push_back(std::make_shared<StreamWork>(*gpu_, one.stream, where, one.deadline));
            works.back()->will_receive({one.peer, 0, one.count});
            works.back()->peer = one.peer;
        }
        for (const Work& work : works) track(work);
        const std::lock_guard turn(launching_);
        for (const Transfer& one : transfers) wait_for_caller(one.stream);
        if (!works.empty())
            submit(works.front()->where, [&](const Channel& channel) { return issue(channel, transfers); });
        for (const Work& work : works) work->record_end(stream_);
        return {works.begin(), works.end()};
    } catch (const Error&) {
        for (const Work& work : works) work->finish(std::current_exception());
        auto failed = std::make_shared<WorkState>();
        failed->finish(std::current_exception());
        return std::vector<std::shared_ptr<WorkState>>(transfers.size(), failed);
    }
}

void NcclBackend::abort(const std::string& why) { give_up(aborted(group_, why)); }

void* NcclBackend::native_handle(std::string_view backend) {
    const std::lock_guard lock(mutex_);
    return backend == "nccl" && communicator_ && !why_ ? communicator_->handle() : nullptr;
}

void NcclBackend::give_up(const Error& why) {
    if (why.code() == ErrorCode::peer_lost) return report_failure(why, true);  // as if this rank had detected it
    notice_->publish(why);
    end(why);
}

}  // namespace dlaunch::worker::nccl
