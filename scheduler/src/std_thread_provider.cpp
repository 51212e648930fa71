// Helpers as threads of our own, parked between runs.
#include <fmt/format.h>

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
    StdThreadProvider(HelperWork& work, int helpers, std::string& note) : work_(work) {
        threads_.reserve(size_t(helpers));
        try {
            for (int helper = 1; helper <= helpers; ++helper) {
                threads_.emplace_back([this, helper] { live(helper); });
            }
        } catch (const std::system_error& error) {
            note =
                fmt::format("{} of {} helper threads: {}", threads_.size(), helpers, error.what());
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
            lock.unlock();
            work_.serve(helper);
            lock.lock();
        }
    }

    HelperWork& work_;
    std::mutex mutex_;  // guards calls_ and ending_
    std::condition_variable wake_;
    int calls_ = 0;
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<ThreadProvider> make_std_thread_provider(HelperWork& work,
                                                         int helpers,
                                                         std::string& note) {
    return std::make_unique<StdThreadProvider>(work, helpers, note);
}

}  // namespace leat::scheduler
