#include "worker_lib/src/nccl/backend.hpp"

#include <fmt/format.h>

#include <cstring>

#include "worker_lib/src/nccl/nccl_backend.hpp"
#include "worker_lib/src/reduce/kernels.hpp"

namespace dlaunch::worker::nccl {
namespace {

/// Calls that are remembered for the case that a rank is that far behind.
constexpr std::size_t kHistory = 1024;
/// Others may be busy for longer than we care to wait before we go.
constexpr auto kFarewell = std::chrono::seconds(5);

}  // namespace

NcclBackend::NcclBackend(const GroupParts& parts)
    : place_{parts.name, parts.rank, static_cast<int>(parts.ranks.size())}, store_(parts.store.below("nccl")) {}

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
        const Gpu::InUse in_use(*gpu_);
        const Time soon = Clock::now() + kFarewell;
        if (communicator_ && !why_) {
            // Who waits for a call that this rank will not make gives up, and so ends our wait for him.
            if (place_.size > 1)
                alarm_->show({.last = history_.empty() ? 0 : history_.back().sequence, .left = true, .calls = {}});
            communicator_->leave([&] {
                const std::lock_guard lock(mutex_);
                if (heard_ || Clock::now() >= soon) throw std::runtime_error("the others do not come");
            });
        }
        communicator_.reset();
        if (stream_) cuda().destroy_stream(stream_);
        byte_.reset();  // what was aborted may have held it
        for (Scratch* scratch : {&in_, &out_, &gathered_}) *scratch = {};
    }
    for (const auto id : watches_) Sentinel::instance().forget(id);
}

void NcclBackend::run(const Call& call) {
    check_going();
    const Gpu::InUse in_use(*gpu_);
    if (call.op != Op::barrier && call.device == Device::cpu) return run_copied(call);
    if (!is_native(call)) return combine(call);
    const Work work = start(call);
    if (call.op == Op::barrier)
        work->wait_until(Time::max());
    else
        work->join();
    work->rethrow();
}

std::shared_ptr<WorkState> NcclBackend::enqueue(const Call& call) {
    if (call.op == Op::barrier || call.device == Device::cpu || !is_native(call)) return nullptr;
    check_going();
    const Gpu::InUse in_use(*gpu_);
    return start(call);
}

template <class Issue>
void NcclBackend::give(const Error::Where& where, Issue&& issue) {
    try {
        communicator_->call([&](const NcclTable&, Comm comm) { return issue(lane(comm)); });
        communicator_->settle(while_going(where));
    } catch (const Failure& failure) {
        const Error error = translate(failure, where);
        if (failure.harmless() && going()) {
            const std::lock_guard lock(mutex_);
            if (where.sequence > 0) history_.pop_back();  // it was not called
            throw Error(ErrorCode::invalid_argument, error.what(), {}, where);
        }
        if (const auto said = said_by_others()) end(*said);
        while_going(where)();
        alarm_->raise(error);
        end(error);
        throw error;
    }
}

void NcclBackend::wait_for_caller(Stream callers) const {
    if (callers == stream_) return;
    const Mark begin;
    begin.set(callers);
    begin.hold_up(stream_);
}

/// What `issue` gives the lane's stream, between the caller's stream before and after.
template <class Issue>
NcclBackend::Work NcclBackend::start(const Call& call, Issue&& issue) {
    auto work = std::make_shared<StreamWork>(*gpu_, call.stream, where(call, place_.group), call.deadline.at());
    {
        const std::lock_guard lock(mutex_);
        history_.emplace_back(call);
        if (history_.size() > kHistory) history_.pop_front();
    }
    if (call.op != Op::barrier) wait_for_caller(call.stream);
    watch_over(work);
    try {
        give(work->where, issue);
        work->mark_end(stream_);
    } catch (...) {
        work->finish(std::current_exception());
        throw;
    }
    return work;
}

NcclBackend::Work NcclBackend::start(const Call& call) {
    Call given = call;
    if (call.op == Op::barrier) given.in = given.out = byte_->data();
    return start(call, [&](const Lane& lane) { return issue(lane, given); });
}

void NcclBackend::watch_over(const Work& work) {
    const std::lock_guard lock(mutex_);
    if (why_) throw failure(why_->code(), work->where, why_->ranks(), why_->what());
    // Whoever gives much takes away what is done, so that the watchdog never has much to look at.
    for (int i = 0; i < 2 && !pending_.empty() && pending_.front()->done(); ++i) pending_.pop_front();
    if (pending_.empty()) changed_.notify_all();
    pending_.push_back(work);
}

/// Host memory, by way of the device's.
void NcclBackend::run_copied(const Call& call) {
    const Extent elements = extent(call, place_.rank, place_.size);
    const bool in_place = call.in == call.out;
    const std::size_t in_bytes = call.bytes(elements.in), out_bytes = call.bytes(elements.out);
    std::byte* const in = in_.of(in_place ? std::max(in_bytes, out_bytes) : in_bytes);
    copy_to_device(in, call.in, in_bytes, stream_);
    Call there = call;
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

/// A reduction that NCCL has not: what is to be combined comes together on the device, and is combined on the host.
void NcclBackend::combine(const Call& call) {
    const std::size_t count = part_of(call, place_.rank), bytes = call.bytes(count);
    const auto ranks = static_cast<std::size_t>(place_.size);
    std::byte* const gathered = gathered_.of(bytes * ranks);
    const Work work = start(call, [&](const Lane& lane) { return issue_inputs(lane, call, gathered); });
    work->wait_until(Time::max());
    work->rethrow();
    if (bytes == 0 || (call.op == Op::reduce && call.root != place_.rank)) return;
    std::vector<std::byte> inputs(bytes * ranks), result(bytes);
    copy_to_host(inputs.data(), gathered, inputs.size(), stream_);
    cuda().check(cuda().synchronize_stream(stream_), "copy from the GPU");
    std::vector<const void*> parts;
    for (std::size_t r = 0; r < ranks; ++r) parts.push_back(inputs.data() + r * bytes);
    kernel(call.type, call.reduce)(result.data(), parts.data(), place_.size, count, call.reduce.factor(), place_.size);
    copy_to_device(call.out, result.data(), bytes, stream_);
    cuda().check(cuda().synchronize_stream(stream_), "copy to the GPU");
}

std::shared_ptr<WorkState> NcclBackend::post(const Transfer& transfer) { return post(std::span(&transfer, 1)).front(); }

/// One mark for each message, behind all of them: they go together.
std::vector<std::shared_ptr<WorkState>> NcclBackend::post(std::span<const Transfer> transfers) {
    std::vector<Work> works;
    try {
        check_going();
        const Gpu::InUse in_use(*gpu_);
        for (const Transfer& one : transfers) {
            const Error::Where where{one.sends ? "send" : "recv", 0, place_.group};
            works.push_back(std::make_shared<StreamWork>(*gpu_, one.stream, where, one.deadline));
            works.back()->will_receive({one.peer, 0, one.count});
            works.back()->peer = one.peer;
            wait_for_caller(one.stream);
        }
        for (const Work& work : works) watch_over(work);
        if (!works.empty()) give(works.front()->where, [&](const Lane& lane) { return issue(lane, transfers); });
        for (const Work& work : works) work->mark_end(stream_);
        return {works.begin(), works.end()};
    } catch (const Error&) {
        for (const Work& work : works) work->finish(std::current_exception());
        auto failed = std::make_shared<WorkState>();
        failed->finish(std::current_exception());
        return std::vector<std::shared_ptr<WorkState>>(transfers.size(), failed);
    }
}

void NcclBackend::abort(const std::string& why) {
    give_up({ErrorCode::aborted, fmt::format("rank {}: {}", place_.rank, why), {place_.rank}, {"", 0, place_.group}});
}

void NcclBackend::give_up(const Error& why) {
    if (why.code() == ErrorCode::peer_lost) return hear(why, true);  // as if it had been seen here
    alarm_->raise(why);
    end(why);
}

}  // namespace dlaunch::worker::nccl
