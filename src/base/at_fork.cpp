#include "base/at_fork.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>

namespace leat {
namespace {

constinit std::atomic<uint64_t> g_generation{0};

struct Kept {
    const void* object = nullptr;
    const Kept* next = nullptr;
};
constinit std::atomic<const Kept*> g_kept{nullptr};

}  // namespace

// All registrations of the process, the youngest first.
class ForkList {
  public:
    void add(ForkRegistration& registration) {
        const std::lock_guard lock(mutex_);
        registration.next_ = first_;
        if (first_ != nullptr) {
            first_->previous_ = &registration;
        }
        first_ = &registration;
        install();
    }
    void remove(ForkRegistration& registration) {
        const std::lock_guard lock(mutex_);
        (registration.previous_ == nullptr ? first_ : registration.previous_->next_) =
            registration.next_;
        if (registration.next_ != nullptr) {
            registration.next_->previous_ = registration.previous_;
        }
    }
    void install_once() {
        const std::lock_guard lock(mutex_);
        install();
    }

  private:
    // A system without memory for it is asked again by the next one.
    void install() {
        is_installed_ =
            is_installed_ || ::pthread_atfork(before_fork, after_in_parent, after_in_child) == 0;
    }
    // The owner is who forks, also of the lock in the child.
    static void before_fork();
    static void after_in_parent();
    static void after_in_child();
    template <class Do>
    void for_each(const Do& what) {
        for (ForkRegistration* at = first_; at != nullptr; at = at->next_) {
            what(at->object_);
        }
    }

    std::mutex mutex_;  // guards the two below; held from before_fork() to the others
    ForkRegistration* first_ = nullptr;
    bool is_installed_ = false;
};

namespace {

constinit ForkList g_list;

}  // namespace

void ForkList::before_fork() {
    g_list.mutex_.lock();
    g_list.for_each([](ForkAware& object) { object.before_fork(); });
}

void ForkList::after_in_parent() {
    g_list.for_each([](ForkAware& object) { object.after_fork_in_parent(); });
    g_list.mutex_.unlock();
}

void ForkList::after_in_child() {
    g_generation.fetch_add(1, std::memory_order_relaxed);
    g_list.for_each([](ForkAware& object) { object.after_fork_in_child(); });
    g_list.mutex_.unlock();
}

ForkRegistration::ForkRegistration(ForkAware& object) : object_(object) {
    g_list.add(*this);
}

ForkRegistration::~ForkRegistration() {
    g_list.remove(*this);
}

ForkMark::ForkMark() {
    g_list.install_once();
    generation_ = g_generation.load(std::memory_order_relaxed);
}

bool ForkMark::is_inherited() const {
    return generation_ != g_generation.load(std::memory_order_relaxed);
}

void keep_for_ever(const void* inherited) noexcept {
    auto* const kept = new (std::nothrow) Kept{inherited, g_kept.load(std::memory_order_relaxed)};
    while (kept != nullptr &&
           !g_kept.compare_exchange_weak(kept->next, kept, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
}

}  // namespace leat
