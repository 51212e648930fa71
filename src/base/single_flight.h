// SingleFlight: of all who ask for one value at a time, one makes it and the others wait for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/error.h"

namespace leat {

// What ends a wait early.
struct WaitLimit {
    std::optional<std::chrono::steady_clock::time_point> deadline = {};
    std::stop_token stop = {};
};

// Of the calling thread, by all objects.
inline thread_local int values_in_making = 0;

struct InMaking {
    InMaking() { ++values_in_making; }
    InMaking(const InMaking&) = delete;
    InMaking& operator=(const InMaking&) = delete;
    ~InMaking() { --values_in_making; }
};

// Where the values are kept is the owner's business: `find` and `keep` look there, under the mutex
// of this object. A Value is a pointer that many share.
//
// Thread-safe. No lock is held while a value is made, so that other keys have nothing to wait for.
template <class Key, class Value>
class SingleFlight {
  public:
    // `what` is made, as errors say it.
    explicit SingleFlight(const char* what) : what_(what) {}

    std::mutex& mutex() const { return mutex_; }

    // find(): the value that there is, or null. make(): a Result<Value>, called without the mutex.
    // keep(value): called before others can ask again; gives the value that is kept, which is
    // another one where two threads made it. An error, also std::bad_alloc, goes to all who wait,
    // and the next who asks makes the value anew. kTimeout and kCancelled: the limit has
    // ended a wait; whoever makes the value goes on. kBusy: make() has asked for its own value.
    // A thread that makes another value meanwhile never waits, or two could wait for each other: it
    // makes this one, too.
    template <class Find, class Make, class Keep>
    Result<Value> get(const Key& key,
                      const WaitLimit& limit,
                      const Find& find,
                      const Make& make,
                      const Keep& keep) {
        std::unique_lock lock(mutex_);
        if (Value found = find(); found != nullptr) {
            return found;
        }
        std::shared_ptr<Flight> same;
        for (const std::shared_ptr<Flight>& flight : flights_) {
            if (*flight->key == key) {
                if (flight->maker == std::this_thread::get_id()) {
                    return make_error(StatusCode::kBusy, "{} is asked for by what makes it", what_);
                }
                same = flight;
            }
        }
        if (same != nullptr && values_in_making == 0) {
            return wait(lock, *same, limit);
        }
        const auto flight = std::make_shared<Flight>(&key);
        flights_.push_back(flight);
        const Landing landing{*this, lock, *flight};
        lock.unlock();
        Result<Value> made = [&make] {
            const InMaking in_making;
            return make();
        }();
        lock.lock();
        if (made.ok()) {
            made = keep(*made);
        }
        flight->result = made;
        return made;
    }

  private:
    struct Flight {
        explicit Flight(const Key* made) : key(made) {}

        const Key* key;  // of the maker, while the flight is in the list
        const std::thread::id maker = std::this_thread::get_id();
        std::condition_variable_any has_landed;
        std::optional<Result<Value>> result;  // guarded by the mutex
    };

    // However the maker leaves, those who wait get a result.
    struct Landing {
        SingleFlight& flights;
        std::unique_lock<std::mutex>& lock;
        Flight& flight;
        ~Landing() {
            if (!lock.owns_lock()) {
                lock.lock();
            }
            if (!flight.result) {
                flight.result = out_of_memory("no memory was left to make {}", flights.what_);
            }
            std::erase_if(flights.flights_,
                          [this](const auto& other) { return other.get() == &flight; });
            flight.has_landed.notify_all();
        }
    };

    Result<Value> wait(std::unique_lock<std::mutex>& lock, Flight& flight, const WaitLimit& limit) {
        const auto has_result = [&flight] { return flight.result.has_value(); };
        const bool is_there = limit.deadline ? flight.has_landed.wait_until(
                                                   lock, limit.stop, *limit.deadline, has_result)
                                             : flight.has_landed.wait(lock, limit.stop, has_result);
        if (is_there) {
            return *flight.result;
        }
        return limit.stop.stop_requested()
                   ? make_error(StatusCode::kCancelled,
                                "the stop token ended the wait for {}, which another thread makes",
                                what_)
                   : make_error(StatusCode::kTimeout,
                                "the deadline ended the wait for {}, which another thread makes",
                                what_);
    }

    const char* what_;
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<Flight>> flights_;
};

}  // namespace leat
