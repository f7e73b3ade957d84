#pragma once
/// Workers' ends that may follow from a request to every process of the job, which the agent has not heard yet: who
/// signals them one after the other is a moment behind the first that dies. They are held back until the request has
/// come, or for so long that none will.

#include <functional>
#include <utility>
#include <vector>

#include "agent/group/worker.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

class HeldEnds {
public:
    static constexpr auto kHeldFor = std::chrono::milliseconds(100);

    /// `judge` takes them in the order of their ends.
    HeldEnds(base::Loop& loop, std::function<void(Worker&)> judge) : loop_(loop), judge_(std::move(judge)) {}

    [[nodiscard]] bool empty() const { return workers_.empty(); }

    /// The worker stays where it is until it has been judged.
    void add(Worker& worker) {
        if (workers_.empty()) timer_ = loop_.after(kHeldFor, [this] { release(); });
        workers_.push_back(&worker);
    }

    /// The request has come: they did as they were asked.
    void excuse() {
        for (Worker* worker : workers_) worker->asked_to_stop = true;
    }
    void release() {
        timer_ = {};
        // One by one: as long as an end is held the round is not over.
        while (!workers_.empty()) {
            Worker* const worker = workers_.front();
            workers_.erase(workers_.begin());
            judge_(*worker);
        }
    }

private:
    base::Loop& loop_;
    std::function<void(Worker&)> judge_;
    std::vector<Worker*> workers_;
    base::Timer timer_;
};

}  // namespace dlaunch::agent
