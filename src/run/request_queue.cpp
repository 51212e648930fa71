// RequestQueue: a ring of requests, whose runs ring one bell.
#include "leat/request_queue.h"

#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "leat/scheduler/run_bell.h"
#include "run/exclusive_use.h"
#include "run/request_impl.h"

namespace leat {
namespace {

// Deadlines and stop tokens ring no bell: how late they may be seen.
constexpr std::chrono::milliseconds kLongestSleep{1};

Status busy_queue() {
    return make_error(StatusCode::kBusy, "the queue is in use by another call")
        .with_hint("submit and take on one thread, or make a queue for each");
}

}  // namespace

struct RequestQueue::Impl {
    // Of what flies nothing is left afterwards: neither its memory nor the bell is used any more.
    ~Impl() {
        for (int i = 0; i < in_flight; ++i) {
            at(i).state->cancel();
            at(i).state->work();
        }
        for (int i = 0; i < in_flight; ++i) {
            (void)at(i).finish();
        }
    }

    int depth() const { return int(requests.size()); }
    // The i-th of those in flight, the oldest first.
    Request::Impl& at(int i) { return *ring(i).impl_; }
    Request& ring(int i) { return requests[size_t((oldest + i) % depth())]; }

    Status submit(const RunOptions& options) {
        Request::Impl& request = at(in_flight);
        scheduler::RunControl control = control_of(options);
        control.bell = &bell;
        LEAT_RETURN_IF_ERROR(request.start(control));
        const Instance* const instance = request.state->current();  // null: it has segments
        RunObserver* const observer = instance == nullptr ? nullptr : instance->observer();
        while (!request.state->work() && observer != nullptr && observer->keeps_submitter()) {
        }
        return {};
    }

    // The calling thread does what is ready of any request until the oldest has ended.
    void work_until_oldest_ended() {
        for (;;) {
            const uint32_t seen = bell.events();
            if (at(0).state->work()) {
                return;
            }
            for (int i = 1; i < in_flight; ++i) {
                (void)at(i).state->work();
            }
            bell.wait(seen, kLongestSleep);
        }
    }

    Status finish_oldest() {
        work_until_oldest_ended();
        Status status = at(0).finish();
        oldest = (oldest + 1) % depth();
        --in_flight;
        return status;
    }

    scheduler::RunBell bell;  // the last to go
    std::vector<Request> requests;
    UseFlag use;  // by submit() and take()
    // Also read beside these calls.
    std::atomic<int> oldest{0};
    std::atomic<int> in_flight{0};
};

RequestQueue::RequestQueue(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RequestQueue::~RequestQueue() = default;
RequestQueue::RequestQueue(RequestQueue&&) noexcept = default;
RequestQueue& RequestQueue::operator=(RequestQueue&&) noexcept = default;

Result<RequestQueue> RequestQueue::make(const CompiledGraph& graph,
                                        const RequestQueueOptions& options) {
    return catch_bad_alloc("make a queue of requests", [&]() -> Result<RequestQueue> {
        if (options.depth < 0) {
            return invalid_argument("a queue of {} requests", options.depth)
                .with_needed("at least 1, or 0 for CompileOptions::requests_in_flight");
        }
        auto impl = std::make_unique<Impl>();
        do {
            LEAT_ASSIGN_OR_RETURN(Request request, graph.make_request(options.request));
            impl->requests.push_back(std::move(request));
        } while (
            impl->depth() <
            (options.depth > 0 ? options.depth : impl->at(0).made_of->options.requests_in_flight));
        return RequestQueue(std::move(impl));
    });
}

int RequestQueue::depth() const {
    return impl_->depth();
}

int RequestQueue::in_flight() const {
    return impl_->in_flight;
}

Request& RequestQueue::next() {
    return impl_->ring(impl_->in_flight);
}

Status RequestQueue::submit(const RunOptions& options) {
    const Use use(impl_->use);
    if (!use.has_begun()) {
        return busy_queue();
    }
    if (is_full()) {
        return make_error(StatusCode::kBusy, "all requests of the queue are in flight")
            .with_found(fmt::format("{} requests", depth()))
            .with_hint("take() the oldest first");
    }
    Status status =
        catch_bad_alloc("start a request", [&]() -> Status { return impl_->submit(options); });
    Request::Impl& request = impl_->at(impl_->in_flight);
    if (status.ok()) {
        ++impl_->in_flight;
    } else if (request.is_started()) {
        (void)request.finish();  // memory ran out while it began
    }
    return status;
}

Result<Request*> RequestQueue::take() {
    return catch_bad_alloc("take a request from the queue", [&]() -> Result<Request*> {
        const Use use(impl_->use);
        if (!use.has_begun()) {
            return busy_queue();
        }
        if (is_empty()) {
            return not_found("the queue has no request in flight").with_hint("submit() one first");
        }
        Request& request = impl_->ring(0);
        LEAT_RETURN_IF_ERROR(impl_->finish_oldest());
        return &request;
    });
}

}  // namespace leat
