// What objects do when the process forks: the child has the calling thread only, so who has threads
// makes them anew or does without.
//
// Registration is thread-safe. The calls come from the thread that forks, for one object after the
// other. Nothing is registered with the system before the first object is.
#pragma once

#include <cstdint>

namespace leat {

class ForkAware {
  public:
    // Takes the locks that guard what the other two change, so that no other thread is in the
    // middle of a change. Whoever holds such a lock must not register or end a registration.
    virtual void before_fork() noexcept {}
    // Gives the locks back.
    virtual void after_fork_in_parent() noexcept {}
    // The same in the child. May allocate. Other threads left their locks as they were, and their
    // stacks may be gone later.
    virtual void after_fork_in_child() noexcept = 0;

  protected:
    ForkAware() = default;
    ~ForkAware() = default;
};

// Calls `object` around each fork, while this lives. The last member of its owner: the object must
// be complete. Destroying it waits for a fork that is under way.
class ForkRegistration {
  public:
    explicit ForkRegistration(ForkAware& object);
    ForkRegistration(const ForkRegistration&) = delete;
    ForkRegistration& operator=(const ForkRegistration&) = delete;
    ~ForkRegistration();

  private:
    friend class ForkList;

    ForkAware& object_;
    ForkRegistration* next_ = nullptr;
    ForkRegistration* previous_ = nullptr;
};

// Tells what was made in this process from what it inherited as a child of fork(). Asking is a
// load.
class ForkMark {
  public:
    // Of now.
    ForkMark();
    // The mark was made in a process that this one is a child of.
    bool is_inherited() const;

  private:
    uint64_t generation_;
};

// Keeps what a child inherited and cannot destroy, since threads or locks of others are part of it.
// A leak checker sees it as reachable; where memory runs out, it does not.
void keep_for_ever(const void* inherited) noexcept;

}  // namespace leat
