// Helpers as threads of our own, parked between runs.
#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "thread_provider.h"

namespace leat::scheduler {
namespace {

class StdThreadProvider final : public ThreadProvider {
  public:
    StdThreadProvider(HelperWork& work, HelperRange range, std::string& note) : work_(work) {
        threads_.reserve(size_t(range.count));
        try {
            for (int helper = range.first; helper < range.first + range.count; ++helper) {
                threads_.emplace_back([this, helper] { live(helper); });
            }
        } catch (const std::system_error& error) {
            note = fmt::format("{} of {} helper threads: {}", threads_.size(), range.count,
                               error.what());
        }
    }
    ~StdThreadProvider() override {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }
    int helpers() const override { return int(threads_.size()); }

    int available() noexcept override {
        const std::lock_guard lock(mutex_);
        return std::max(helpers() - calls_ - serving_, 0);
    }
    int recruit(int count) noexcept override {
        {
            const std::lock_guard lock(mutex_);
            calls_ += count;
        }
        for (int i = 0; i < count; ++i) {
            wake_.notify_one();
        }
        return count;
    }

  private:
    void live(int helper) {
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return calls_ > 0 || ending_; });
            if (ending_) {
                return;
            }
            --calls_;
            ++serving_;
            lock.unlock();
            work_.serve(helper);
            lock.lock();
            --serving_;
        }
    }

    HelperWork& work_;
    std::mutex mutex_;  // guards the three below
    std::condition_variable wake_;
    int calls_ = 0;    // that no thread has answered
    int serving_ = 0;  // threads inside serve()
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<ThreadProvider> make_std_thread_provider(HelperWork& work,
                                                         HelperRange range,
                                                         std::string& note) {
    return std::make_unique<StdThreadProvider>(work, range, note);
}

}  // namespace leat::scheduler
