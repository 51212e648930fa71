// SegmentsRun: the values of a request, and its runs, where the graph takes several plans.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/grown_tensor.h"
#include "run/request_impl.h"
#include "run/segments.h"
#include "run/value_pool.h"

namespace leat {

// Of one type and shape.
void copy_tensor(const Tensor& from, Tensor& to);

// What a trace shows of a run in segments.
struct SegmentsTrace {
    const RequestState* first = nullptr;    // the segment that the trace is of; null: none has run
    std::vector<scheduler::TraceRow> rows;  // of the others, and of what runs between them
};

// Of a graph, or of a body in it. Used by one thread at a time.
class SegmentsRun {
  public:
    // `segments` outlives this.
    SegmentsRun(const Segments& segments, RequestPlace place, ValuePool& pool);
    ~SegmentsRun();
    SegmentsRun(const SegmentsRun&) = delete;
    SegmentsRun& operator=(const SegmentsRun&) = delete;

    // Moves the inputs away. The results are in memory of the pool, or of inputs and constants.
    Result<std::vector<Value>> run(std::span<Value> inputs, const scheduler::RunControl& control);
    // The same, one step of a plan after the other, with their times. A node between segments has
    // one row, and the steps of its bodies have none.
    Result<std::vector<Value>> profile(std::span<Value> inputs, std::vector<StepTime>& times);
    // The same in steps, as RequestState has them: nothing of it fails but finish().
    void start(std::span<const Value> inputs, const scheduler::RunControl& control);
    bool work();
    void cancel();
    Result<std::vector<Value>> finish();

    // Plans what the shapes of the inputs tell: the first segment, if it reads inputs alone.
    Status prepare(std::span<const Shape> shapes);
    void trim();
    // Of the last run of a traced graph. `around`: the path of the body that this is, or empty.
    void add_trace(const std::string& around, SegmentsTrace& trace) const;
    // Calls on_request(RequestState&) for each segment that has run, those of bodies included.
    template <class OnRequest>
    void for_each_request(const OnRequest& on_request) const {
        for (const Step& step : steps_) {
            if (step.request != nullptr) {
                on_request(*step.request);
            }
            for (const auto& [key, body] : step.bodies) {
                body->for_each_request(on_request);
            }
        }
    }

  private:
    // Memory of the pool, for a result of a segment.
    class PoolMemory final : public GrownTensorMemory {
      public:
        PoolMemory(ValuePool& pool, const std::string& value) : pool_(pool), value_(value) {}
        Result<Tensor> allocate(DType stored, int64_t count) override {
            return pool_.allocate(stored, Shape({count}), value_);
        }

      private:
        ValuePool& pool_;
        const std::string& value_;
    };
    struct Step {
        std::unique_ptr<RequestState> request;  // made when it runs for the first time
        std::deque<PoolMemory> memory;          // by result of the segment
        std::map<std::string, std::unique_ptr<SegmentsRun>, std::less<>> bodies;
        // Of a node without a plan, in the last run of a traced graph.
        int64_t begin_ns = 0;
        int64_t end_ns = 0;
    };

    void take_inputs(std::span<Value> inputs);
    std::vector<Value> take_results();
    // Ends the run, with this status.
    Status end(Status status);
    template <class Run>
    Result<std::vector<Value>> end_of(const Run& run);
    // A copy, or the value itself where nothing needs it afterwards.
    Value input_of(const SegmentStep& step, size_t input);
    std::vector<Value> inputs_of(const SegmentStep& step);
    // Nothing where the node does not name that output.
    void set_output(const SegmentStep& step, size_t output, Value value);

    Status advance();
    Status run_step(size_t index);
    Status profile_step(size_t index, std::vector<StepTime>& times);
    Status make_request(size_t index);
    // Binds, plans, and gives results their places.
    Status prepare_segment(size_t index);
    Status take_results_of_segment(size_t index);
    void release(size_t index);
    // Null: it does not grow.
    GrownTensor* grown_result(const RequestState& request, size_t output) const;
    Result<Tensor> pooled(const Tensor& tensor, const std::string& value);

    Result<SegmentsRun*> body_of(size_t index, std::string_view key);
    Status run_values(const SegmentStep& step);
    Status run_bodies(size_t index);
    Status run_map(size_t index, std::vector<Value> inputs);
    Status run_if(size_t index, std::vector<Value> inputs);
    Status run_loop(size_t index, std::vector<Value> inputs);
    Status run_scan(size_t index, std::vector<Value> inputs);
    Result<std::vector<Value>> run_iteration(size_t index,
                                             std::vector<Value> given,
                                             int64_t iteration);
    Status set_stacks(const SegmentStep& step,
                      size_t first,
                      size_t before,
                      const std::vector<std::vector<Tensor>>& stacks,
                      const std::vector<int64_t>& axes);
    Result<Tensor> slice_of(const Tensor& whole, int axis, int64_t index, const std::string& value);
    Status check_end() const;
    // Of runs of bodies, which nobody starts.
    scheduler::RunControl control_of_bodies() const {
        scheduler::RunControl control = control_;
        control.bell = nullptr;
        return control;
    }

    const Segments& segments_;
    const RequestPlace place_;
    ValuePool& pool_;
    std::vector<Value> slots_;
    std::vector<Step> steps_;
    scheduler::RunControl control_;  // of the run
    // Of a run that was started: the step that is next, or runs already.
    size_t current_ = 0;
    bool is_running_ = false;
    bool is_cancelled_ = false;
    Status status_;
};

}  // namespace leat
