#include "backends/sim/paced_work.h"

#include <algorithm>

namespace leat::sim {
namespace {

// No queue of the device stands behind the host's: any point but 0 says that the end comes later.
constexpr uint64_t kEndsLater = 1;

LeatSubmissionTimes* times_of(const LeatSubmission& submission) {
    const LeatChained* chained = plugin::find_chained(submission.header, LEAT_SUBMISSION_TIMES);
    const bool is_whole =
        chained != nullptr && chained->header.struct_bytes >= sizeof(LeatSubmissionTimes);
    // The chain is read-only for what a struct tells; this one is for what it is told.
    return is_whole ? reinterpret_cast<LeatSubmissionTimes*>(const_cast<LeatChained*>(chained))
                    : nullptr;
}

}  // namespace

// A point that is open already keeps its span: the second submission of it will be refused.
std::shared_ptr<Span> OpenSpans::add(LeatPoint point) {
    auto span = std::make_shared<Span>();
    const std::lock_guard lock(mutex_);
    spans_.emplace(Key(point.queue, point.value), span);
    return span;
}

std::shared_ptr<const Span> OpenSpans::find(LeatPoint point) const {
    const std::lock_guard lock(mutex_);
    const auto found = spans_.find({point.queue, point.value});
    return found == spans_.end() ? nullptr : found->second;
}

void OpenSpans::remove(LeatPoint point, const std::shared_ptr<Span>& span) {
    const std::lock_guard lock(mutex_);
    const auto found = spans_.find({point.queue, point.value});
    if (found != spans_.end() && found->second == span) {
        spans_.erase(found);
    }
}

PacedWork::PacedWork(SimClock& clock,
                     OpenSpans& spans,
                     const LeatSubmission& submission,
                     host_device::Job job,
                     Pace pace)
    : clock_(clock),
      spans_(spans),
      signal_(submission.signal),
      submitted_ns_(clock.now_ns()),
      number_(clock.draw_number()),
      times_(times_of(submission)),
      job_(std::move(job)),
      pace_(std::move(pace)) {
    for (const LeatPoint wait : plugin::waits_of(submission)) {
        if (std::shared_ptr<const Span> span = spans_.find(wait)) {
            waits_.push_back(std::move(span));
        }
    }
    own_ = spans_.add(signal_);
}

PacedWork::~PacedWork() {
    spans_.remove(signal_, own_);
    // By now the queues know of the loss, so that what ends early is not taken for success.
    if (has_lost_device_) {
        clock_.lose_queues(pace_.first_queue, pace_.end_queue);
    }
}

uint64_t PacedWork::run(std::span<const queues::DevicePoint> /*waits*/) {
    job_.call();
    return kEndsLater;
}

void PacedWork::on_ended(uint64_t /*point*/, const Ended& ended) {
    Stay stay;
    stay.queue = signal_.queue;
    stay.channel = pace_.channel;
    stay.ready_ns = submitted_ns_;
    for (const std::shared_ptr<const Span>& wait : waits_) {
        stay.ready_ns = std::max(stay.ready_ns, wait->end_ns);
    }
    stay.duration_ns = pace_.duration_ns;
    stay.number = number_;
    clock_.occupy(stay, [this, ended](const Span& span) {
        tell(span);
        ended({});  // destroys this
    });
}

void PacedWork::lose_device() {
    has_lost_device_ = true;
    Work::lose_device();
}

void PacedWork::tell(const Span& span) {
    *own_ = span;
    if (times_ != nullptr) {
        times_->begin_ticks = span.begin_ns;
        times_->end_ticks = span.end_ns;
    }
    LeatProfile* profile = job_.profile;
    // A planned delay is in front of the steps.
    int64_t end_ns = span.end_ns;
    for (const int64_t step_ns : pace_.step_ns) {
        end_ns -= step_ns;
    }
    for (size_t i = 0; profile != nullptr && i < pace_.step_ns.size(); ++i) {
        const int64_t begin_ns = end_ns;
        end_ns += pace_.step_ns[i];
        if (profile->count < profile->capacity) {
            profile->steps[profile->count++] = {int32_t(i), begin_ns, end_ns};
        }
    }
}

}  // namespace leat::sim
