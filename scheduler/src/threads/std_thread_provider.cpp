// Helpers as threads of our own, parked between runs.
#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "base/at_fork.h"
#include "threads/thread_provider.h"

namespace leat::scheduler {
namespace {

// Where the threads are. A child of fork() gets another one: this is in the hands of threads that
// the child does not have.
struct Parking {
    std::mutex mutex;  // guards all below
    std::condition_variable wake;
    int calls = 0;    // that no thread has answered
    int serving = 0;  // threads inside serve()
    bool is_ending = false;
    std::vector<std::thread> threads;
};

class StdThreadProvider final : public ThreadProvider {
  public:
    StdThreadProvider(HelperWork& work, HelperRange range, std::string& note)
        : work_(work), first_(range.first), parking_(std::make_unique<Parking>()) {
        try {
            add_threads(range.count);
        } catch (const std::exception& error) {  // no thread, or no memory for one
            tell(range.count, error.what(), note);
        }
        helpers_ = int(parking_->threads.size());
    }
    ~StdThreadProvider() override {
        if (parking_ == nullptr) {
            return;
        }
        {
            const std::lock_guard lock(parking_->mutex);
            parking_->is_ending = true;
        }
        parking_->wake.notify_all();
        for (std::thread& thread : parking_->threads) {
            thread.join();
        }
    }
    int helpers() const override { return helpers_; }

    int available() noexcept override {
        if (parking_ == nullptr) {
            return 0;
        }
        const std::lock_guard lock(parking_->mutex);
        return std::max(helpers() - parking_->calls - parking_->serving, 0);
    }
    int recruit(int count) noexcept override {
        if (parking_ == nullptr) {
            return 0;
        }
        {
            const std::lock_guard lock(parking_->mutex);
            // Only in a child: threads that fork() left behind.
            if (int(parking_->threads.size()) < helpers_) {
                try {
                    add_threads(helpers_);
                } catch (const std::exception&) {
                    // Those that there are have to do.
                }
                if (parking_->threads.empty()) {
                    return 0;
                }
            }
            parking_->calls += count;
        }
        for (int i = 0; i < count; ++i) {
            parking_->wake.notify_one();
        }
        return count;
    }

    void before_fork() noexcept override {
        if (parking_ != nullptr) {
            parking_->mutex.lock();
        }
    }
    void after_fork_in_parent() noexcept override {
        if (parking_ != nullptr) {
            parking_->mutex.unlock();
        }
    }
    bool after_fork_in_child() noexcept override {
        if (parking_ != nullptr) {
            parking_->is_ending = true;  // for one of its threads, if it was that which forked
            parking_->mutex.unlock();
            keep_for_ever(parking_.release());
            parking_.reset(new (std::nothrow) Parking);
        }
        return parking_ != nullptr;
    }

  private:
    // Up to `count` in all; throws what std::thread does, and keeps those that were made.
    void add_threads(int count) {
        std::vector<std::thread>& threads = parking_->threads;
        threads.reserve(size_t(count));
        while (int(threads.size()) < count) {
            const int helper = first_ + int(threads.size());
            threads.emplace_back([this, &parking = *parking_, helper] { live(parking, helper); });
        }
    }
    // The threads that there are must not be lost for a text.
    void tell(int wanted, const char* reason, std::string& note) const noexcept {
        try {
            note = fmt::format("{} of {} helper threads: {}", parking_->threads.size(), wanted,
                               reason);
        } catch (const std::exception&) {
            note.clear();
        }
    }
    void live(Parking& parking, int helper) {
        std::unique_lock lock(parking.mutex);
        for (;;) {
            parking.wake.wait(lock, [&] { return parking.calls > 0 || parking.is_ending; });
            if (parking.is_ending) {
                return;
            }
            --parking.calls;
            ++parking.serving;
            lock.unlock();
            work_.serve(helper);
            lock.lock();
            --parking.serving;
        }
    }

    HelperWork& work_;
    const int first_;
    int helpers_ = 0;
    std::unique_ptr<Parking> parking_;  // null: a child had no memory for one
};

}  // namespace

std::unique_ptr<ThreadProvider> make_std_thread_provider(HelperWork& work,
                                                         HelperRange range,
                                                         std::string& note) {
    return std::make_unique<StdThreadProvider>(work, range, note);
}

}  // namespace leat::scheduler
