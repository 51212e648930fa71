// SingleFlight: one caller makes a value, the others of its key wait, and those of others go on.
#include "base/single_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "leat/scheduler/executor.h"

namespace leat {
namespace {

using namespace std::chrono_literals;

using Value = std::shared_ptr<const std::string>;

// Texts by number, each made by the first who asks for it.
class Texts {
  public:
    using Make = std::function<Result<Value>()>;

    Result<Value> get(int key, const Make& make, const WaitLimit& limit = {}) {
        return flights_.get(
            key, limit,
            [&] {
                ++asked_;
                const auto at = kept_.find(key);
                return at == kept_.end() ? nullptr : at->second;
            },
            [&] {
                ++made_;
                return make();
            },
            [&](const Value& value) { return kept_.emplace(key, value).first->second; });
    }
    // All but the maker wait once the mutex is free again: asking and waiting are under one lock.
    void wait_for_callers(int count) {
        for (;;) {
            const std::lock_guard lock(flights_.mutex());
            if (asked_ == count) {
                return;
            }
            std::this_thread::yield();
        }
    }
    int made() const { return made_; }
    size_t kept() const {
        const std::lock_guard lock(flights_.mutex());
        return kept_.size();
    }

  private:
    SingleFlight<int, Value> flights_{"the text"};
    std::map<int, Value> kept_;  // guarded by the mutex, as asked_ is
    int asked_ = 0;
    std::atomic<int> made_{0};
};

Result<Value> text(const char* words) {
    return std::make_shared<const std::string>(words);
}

// What each of `count` callers of one key gets, where make() returns once all have asked.
std::vector<Result<Value>> ask_together(Texts& texts, int count, const Texts::Make& make) {
    std::vector<Result<Value>> results(size_t(count), Status(StatusCode::kInternal, "nothing yet"));
    std::vector<std::thread> threads;
    threads.reserve(results.size());
    for (Result<Value>& result : results) {
        threads.emplace_back([&] {
            const auto call = [&] {
                texts.wait_for_callers(count);
                return make();
            };
            try {
                result = texts.get(1, call);
            } catch (const std::bad_alloc&) {
                result = Status(StatusCode::kUserException, "thrown");
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return results;
}

TEST(SingleFlight, GivesOneValueToAllWhoAsk) {
    Texts texts;
    const auto results = ask_together(texts, 8, [] { return text("made once"); });
    for (const Result<Value>& result : results) {
        ASSERT_TRUE(result.ok()) << result.error().message();
        EXPECT_EQ(*result, *results[0]);
        EXPECT_EQ(**result, "made once");
    }
    EXPECT_EQ(texts.made(), 1);
    EXPECT_EQ(*texts.get(1, [] { return text("made again"); }), *results[0]);
    EXPECT_EQ(texts.made(), 1);
}

TEST(SingleFlight, GivesAnErrorToAllWhoWaitAndKeepsNothing) {
    Texts texts;
    const auto results = ask_together(
        texts, 8, [] { return Result<Value>(Status(StatusCode::kCancelled, "given up")); });
    for (const Result<Value>& result : results) {
        EXPECT_EQ(result.error().code(), StatusCode::kCancelled);
        EXPECT_EQ(result.error().text(), "given up");
    }
    EXPECT_EQ(texts.made(), 1);
    EXPECT_EQ(texts.kept(), 0U);
    const auto later = texts.get(1, [] { return text("made anew"); });
    ASSERT_TRUE(later.ok());
    EXPECT_EQ(**later, "made anew");
}

TEST(SingleFlight, MakesAnErrorOfBadAllocForThoseWhoWait) {
    Texts texts;
    const auto results = ask_together(texts, 8, []() -> Result<Value> { throw std::bad_alloc(); });
    int thrown = 0;
    for (const Result<Value>& result : results) {
        thrown += result.error().code() == StatusCode::kUserException ? 1 : 0;
        if (result.error().code() != StatusCode::kUserException) {
            EXPECT_EQ(result.error().code(), StatusCode::kOutOfMemory);
            EXPECT_EQ(result.error().text(), "no memory was left to make the text");
        }
    }
    EXPECT_EQ(thrown, 1);
    EXPECT_EQ(texts.kept(), 0U);
    EXPECT_TRUE(texts.get(1, [] { return text("made anew"); }).ok());
}

TEST(SingleFlight, LetsOtherKeysGoOn) {
    Texts texts;
    // One thread makes all three, each while the ones before are being made.
    const auto outer = texts.get(1, [&] {
        return texts.get(2, [&] { return texts.get(3, [] { return text("innermost"); }); });
    });
    ASSERT_TRUE(outer.ok()) << outer.error().message();
    EXPECT_EQ(**outer, "innermost");
    EXPECT_EQ(texts.kept(), 3U);
}

TEST(SingleFlight, RefusesAMakerThatAsksForItsOwnValue) {
    Texts texts;
    const auto result = texts.get(1, [&] { return texts.get(1, [] { return text("inner"); }); });
    EXPECT_EQ(result.error().code(), StatusCode::kBusy);
    EXPECT_EQ(texts.kept(), 0U);
}

// A maker that has not ended yet, on a thread of its own.
class SlowMaker {
  public:
    explicit SlowMaker(Texts& texts)
        : thread_([this, &texts] {
              result_ = texts.get(1, [this] {
                  may_end_.wait(false);
                  return text("made at last");
              });
          }) {
        texts.wait_for_callers(1);
    }
    ~SlowMaker() { (void)end(); }
    Result<Value> end() {
        may_end_ = true;
        may_end_.notify_all();
        if (thread_.joinable()) {
            thread_.join();
        }
        return result_;
    }

  private:
    std::atomic<bool> may_end_{false};
    Result<Value> result_ = Status(StatusCode::kInternal, "nothing yet");
    std::thread thread_;
};

// Each makes a value and asks for that of the other meanwhile: none may wait.
TEST(SingleFlight, LetsNoMakerWaitForAnother) {
    Texts texts;
    std::atomic<int> begun{0};
    const auto both_begin = [&begun] {
        ++begun;
        while (begun < 2) {
            std::this_thread::yield();
        }
    };
    const auto make_asking = [&](int other) -> Result<Value> {
        both_begin();
        LEAT_ASSIGN_OR_RETURN(const Value inner, texts.get(other, [] { return text("inner"); }));
        return text(("outer of " + *inner).c_str());
    };
    std::vector<Result<Value>> results(2, Status(StatusCode::kInternal, "nothing yet"));
    std::thread first([&] { results[0] = texts.get(1, [&] { return make_asking(2); }); });
    std::thread second([&] { results[1] = texts.get(2, [&] { return make_asking(1); }); });
    first.join();
    second.join();
    ASSERT_TRUE(results[0].ok()) << results[0].error().message();
    ASSERT_TRUE(results[1].ok()) << results[1].error().message();
    // Who came later took what was kept by then.
    EXPECT_EQ(texts.kept(), 2U);
    EXPECT_EQ(*texts.get(1, [] { return text("again"); }), *results[0]);
    EXPECT_EQ(*texts.get(2, [] { return text("again"); }), *results[1]);
}

// A value that a maker makes beside another thread is no reason to go round in circles.
TEST(SingleFlight, RefusesAMakerThatAsksForAValueItMakesBesideAnother) {
    Texts texts;
    std::atomic<bool> is_begun{false};
    std::atomic<bool> may_end{false};
    std::thread other([&] {
        (void)texts.get(2, [&] {
            is_begun = true;
            while (!may_end) {
                std::this_thread::yield();
            }
            return text("two");
        });
    });
    while (!is_begun) {
        std::this_thread::yield();
    }
    const Result<Value> refused = texts.get(1, [&] {
        return texts.get(2, [&] { return texts.get(2, [] { return text("never"); }); });
    });
    may_end = true;
    other.join();
    EXPECT_EQ(refused.error().code(), StatusCode::kBusy);
}

TEST(SingleFlight, EndsAWaitAtItsDeadlineAndLetsTheMakerGoOn) {
    Texts texts;
    SlowMaker maker(texts);
    for (const auto wait : {-1ms, 0ms, 20ms}) {
        const auto waited = texts.get(1, [] { return text("by another"); },
                                      {std::chrono::steady_clock::now() + wait, {}});
        EXPECT_EQ(waited.error().code(), StatusCode::kTimeout);
    }
    const auto made = maker.end();
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(**made, "made at last");
    // What is there needs no wait.
    const auto found = texts.get(1, [] { return text("by another"); },
                                 {std::chrono::steady_clock::now() - 1ms, {}});
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, *made);
    EXPECT_EQ(texts.made(), 1);
}

TEST(SingleFlight, EndsAWaitByItsStopTokenAndLetsTheMakerGoOn) {
    Texts texts;
    SlowMaker maker(texts);
    for (const bool has_deadline : {false, true}) {
        std::stop_source stop;
        WaitLimit limit{{}, stop.get_token()};
        if (has_deadline) {
            limit.deadline = std::chrono::steady_clock::time_point::max();
        }
        Result<Value> waited = Status(StatusCode::kInternal, "nothing yet");
        std::thread waiter([&] {
            waited = texts.get(
                1, [] { return text("no"); }, limit);
        });
        texts.wait_for_callers(has_deadline ? 3 : 2);
        stop.request_stop();
        waiter.join();
        EXPECT_EQ(waited.error().code(), StatusCode::kCancelled);
    }
    EXPECT_TRUE(maker.end().ok());
    EXPECT_EQ(texts.made(), 1);
}

// Workers of an executor that all ask for one text, whose making needs the executor, too.
struct Crew {
    static constexpr int64_t kCalls = 16;
    static constexpr int64_t kParts = 64;

    static Status make_part(void* context, int64_t begin, int64_t end, int /*worker*/) {
        static_cast<Crew*>(context)->parts += end - begin;
        return {};
    }
    static Status ask(void* context, int64_t begin, int64_t end, int /*worker*/) {
        auto& crew = *static_cast<Crew*>(context);
        const auto make = [&]() -> Result<Value> {
            LEAT_RETURN_IF_ERROR(crew.executor.parallel_for(kParts, 1, make_part, context));
            return text("of many parts");
        };
        for (int64_t i = begin; i < end; ++i) {
            LEAT_RETURN_IF_ERROR(crew.texts.get(1, make).error());
            ++crew.answers;
        }
        return {};
    }

    scheduler::Executor executor{{.threads = 4, .pin = false}};
    Texts texts;
    std::atomic<int64_t> parts{0};
    std::atomic<int64_t> answers{0};
};

TEST(SingleFlight, LetsWorkersWaitForAMakerThatUsesTheirExecutor) {
    for (int round = 0; round < 20; ++round) {
        Crew crew;
        const Status status = crew.executor.parallel_for(Crew::kCalls, 1, Crew::ask, &crew);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(crew.answers, Crew::kCalls);
        EXPECT_EQ(crew.parts, Crew::kParts);
        EXPECT_EQ(crew.texts.made(), 1);
    }
}

}  // namespace
}  // namespace leat
