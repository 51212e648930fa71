#include "backends/vulkan/device/waiter.h"

#include <algorithm>
#include <new>
#include <utility>

namespace leat::vulkan {
namespace {

// One queue: how long an earlier point, asked for later, may go unnoticed. Several: how late the
// points of the others are seen.
constexpr int64_t kSliceOfOneQueueNs = 50'000'000;
constexpr int64_t kSliceOfSeveralNs = 1'000'000;

}  // namespace

Waiter::Waiter() : thread_([this] { run(); }) {}

Waiter::~Waiter() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Waiter::on_reached(std::shared_ptr<Queue> queue, uint64_t point, Callback callback) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        entries_.push_back({std::move(queue), point, std::move(callback)});
    }
    changed_.notify_one();
}

size_t Waiter::outstanding() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return entries_.size() + calling_;
}

void Waiter::run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return is_stopping_ || !entries_.empty(); });
        if (entries_.empty()) {
            return;
        }
        wait_for_some(lock);
        call_back(lock);
    }
}

void Waiter::wait_for_some(std::unique_lock<std::mutex>& lock) {
    const std::shared_ptr<Queue> queue = entries_.front().queue;
    uint64_t point = entries_.front().point;
    bool is_alone = true;
    for (const Entry& entry : entries_) {
        if (entry.queue == queue) {
            point = std::min(point, entry.point);
        } else {
            is_alone = false;
        }
    }
    lock.unlock();
    // An error shows again when call_back() asks what was reached.
    (void)queue->wait(point, is_alone ? kSliceOfOneQueueNs : kSliceOfSeveralNs);
    lock.lock();
}

void Waiter::call_back(std::unique_lock<std::mutex>& lock) {
    std::vector<std::pair<Callback, Status>> due;
    try {
        due.reserve(entries_.size());
    } catch (const std::bad_alloc&) {  // they are told as soon as there is memory again
        return;
    }
    for (Entry& entry : entries_) {
        Result<uint64_t> reached = entry.queue->reached();
        if (!reached.ok() || *reached >= entry.point) {
            due.emplace_back(std::move(entry.callback), std::move(reached).error());
            entry.queue.reset();
        }
    }
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                  [](const Entry& entry) { return entry.queue == nullptr; }),
                   entries_.end());
    calling_ = due.size();
    lock.unlock();
    for (const auto& [callback, status] : due) {
        callback(status);
    }
    due.clear();
    lock.lock();
    calling_ = 0;
}

}  // namespace leat::vulkan
