// RequestQueue: one thread keeps several requests of a graph in flight and takes their results in
// the order in which it submitted them. While one request is on a device, others are copied there
// or run on the host.
//
//   RequestQueue queue = *RequestQueue::make(compiled);   // CompileOptions::requests_in_flight
//   for (const Frame& frame : frames) {
//       if (queue.is_full()) {
//           Result<Request*> oldest = queue.take();        // waits for it
//           ...                                            // (*oldest)->get<float>("y")
//       }
//       queue.next().bind<float>("x", frame.pixels);
//       queue.submit();
//   }
//   while (!queue.is_empty()) { ... queue.take() ... }
//
// No thread sleeps for each request: the Runtime's helpers run what is ready of all of them, and so
// does the calling thread inside of take(). A Runtime of one thread has no helpers, and there
// requests go on in submit() and take() only.
//
// Used by one thread at a time: submit() and take() beside one of both are kBusy. Results and
// errors as of Request::run.
#pragma once

#include <memory>

#include "leat/runtime.h"

namespace leat {

struct RequestQueueOptions {
    int depth = 0;  // requests in flight at most; 0: CompileOptions::requests_in_flight
    RequestOptions request = {};
};

class LEAT_API RequestQueue {
  public:
    // All requests are made here. Error: as CompiledGraph::make_request; a depth below 0.
    static Result<RequestQueue> make(const CompiledGraph& graph,
                                     const RequestQueueOptions& options = {});
    // Cancels what is in flight and waits until nothing uses its memory.
    ~RequestQueue();
    RequestQueue(RequestQueue&&) noexcept;
    RequestQueue& operator=(RequestQueue&&) noexcept;

    int depth() const;
    int in_flight() const;
    bool is_empty() const { return in_flight() == 0; }
    bool is_full() const { return in_flight() == depth(); }

    // The request that submit() starts, bound as it was left depth() runs ago. Where the queue is
    // full it is the oldest in flight, of which nothing may be changed: kBusy. Stays the queue's.
    Request& next();
    // Starts it. kBusy: the queue is full, or another call uses the queue or the request. After any
    // error it is not in flight.
    Status submit(const RunOptions& options = {});
    // Waits for the oldest request and removes it from the queue. Its results are valid until the
    // next call of next(). Its error ends no other request. kNotFound: the queue is empty; kBusy:
    // another call uses it.
    Result<Request*> take();

    struct Impl;

  private:
    explicit RequestQueue(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace leat
