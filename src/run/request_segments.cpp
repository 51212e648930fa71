// A request of a graph in segments.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "run/request_impl.h"
#include "run/segments_run.h"

namespace leat {

void copy_tensor(const Tensor& from, Tensor& to) {
    if (from.dtype() == DType::kString) {
        const std::span<const std::string> strings = from.data<std::string>();
        std::copy(strings.begin(), strings.end(), to.mutable_data<std::string>().begin());
    } else if (const int64_t bytes = from.byte_count(); bytes > 0) {
        std::memcpy(to.mutable_bytes(), from.bytes(), size_t(bytes));
    }
}

// The results of the run before give their memory back.
Status RequestState::prepare_values() {
    LEAT_RETURN_IF_ERROR(check_new_overlaps());
    copy_unaligned();
    std::fill(results.begin(), results.end(), Value());
    return {};
}

Status RequestState::run_segments(const scheduler::RunControl& control) {
    LEAT_RETURN_IF_ERROR(prepare_values());
    std::vector<Value> values = inputs;
    Result<std::vector<Value>> found = segments_->run(values, control);
    return found.ok() ? take_segment_results(*std::move(found))
                      : std::move(found).error().with_file(compiled->graph.file);
}

Status RequestState::take_segment_results(std::vector<Value> values) {
    for (size_t i = 0; i < values.size(); ++i) {
        Tensor& user = user_outputs[i];
        if (!user.defined()) {
            results[i] = std::move(values[i]);
            continue;
        }
        const Tensor& found = values[i].tensor();
        if (Status status = check_user_output(int(i), found.dtype(), found.shape()); !status.ok()) {
            return std::move(status).with_hint("only the run knows how large this output is");
        }
        copy_tensor(found, user);
        results[i] = Value(user);
    }
    has_results_ = true;
    return {};
}

// Of the segments, the first one alone has shapes that inputs tell.
Status RequestState::prepare_segments(const std::vector<Shape>& shapes) {
    return segments_->prepare(shapes);
}

}  // namespace leat
