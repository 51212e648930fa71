// The trace of an instance: which node ran where and when.
#include <fmt/format.h>

#include "task_graph_instance.h"

namespace leat::scheduler::detail {

// One buffer a worker: each has one writer at a time. More workers than before get theirs.
void InstanceData::make_trace(int workers) {
    const int64_t capacity = graph_->options.trace_events_per_worker;
    while (int(trace_.size()) < workers) {
        trace_.push_back(std::make_unique<TraceBuffer>(capacity));
    }
    if (job_trace_ == nullptr) {
        job_trace_ = std::make_unique<TraceBuffer>(jobs_.empty() ? 0 : capacity);
    }
    for (const auto& child : children_) {
        child->make_trace(workers);
    }
}

void InstanceData::clear_trace(int64_t begin_ns) {
    trace_begin_ns_ = begin_ns;
    for (const auto& buffer : trace_) {
        buffer->clear();
    }
    job_trace_->clear();
    for (const auto& child : children_) {
        child->clear_trace(begin_ns);
    }
}

void InstanceData::add_events(ChromeTrace& trace, std::map<int32_t, std::string>& threads) const {
    const auto add = [&](const TraceBuffer& buffer, const std::string& thread) {
        for (const TraceEvent& event : buffer.events()) {
            threads.try_emplace(event.thread, thread);
            trace.add(path_of(event.id), "node", event.thread, event.begin_ns - trace_begin_ns_,
                      event.end_ns - trace_begin_ns_);
        }
    };
    // A sub-graph has its own numbers of workers; they say nothing about the thread.
    for (size_t worker = 0; worker < trace_.size(); ++worker) {
        add(*trace_[worker], parent_ == nullptr ? fmt::format("worker {}", worker) : "thread");
    }
    add(*job_trace_, "blocking pool");
    for (const auto& child : children_) {
        child->add_events(trace, threads);
    }
}

int64_t InstanceData::dropped_events() const {
    int64_t dropped = job_trace_->dropped();
    for (const auto& buffer : trace_) {
        dropped += buffer->dropped();
    }
    for (const auto& child : children_) {
        dropped += child->dropped_events();
    }
    return dropped;
}

std::string InstanceData::trace_json() const {
    ChromeTrace trace("leat task graph");
    if (plan_ != nullptr && plan_->is_traced && !is_running()) {
        std::map<int32_t, std::string> threads;
        add_events(trace, threads);
        for (const auto& [thread, name] : threads) {
            trace.name_thread(thread, name);
        }
        trace.add_note("dropped_events", std::to_string(dropped_events()));
    }
    return trace.json();
}

}  // namespace leat::scheduler::detail
