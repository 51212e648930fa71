#include "run/device_trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "plan/step_memory.h"
#include "plan/step_program.h"

namespace leat {
namespace {

using scheduler::TraceEnd;
using scheduler::TraceRow;

// Rows by name, in the order of the names.
class TraceRowWriter {
  public:
    explicit TraceRowWriter(bool is_forecast) : is_forecast_(is_forecast) {}

    void add(const std::string& row, scheduler::TraceSpan span) {
        spans_[row].push_back(std::move(span));
    }
    void write(std::string_view prefix, std::vector<TraceRow>& rows) {
        for (auto& [name, own] : spans_) {
            rows.push_back({std::string(prefix) + name, std::move(own), is_forecast_});
        }
    }

  private:
    bool is_forecast_;
    std::map<std::string, std::vector<scheduler::TraceSpan>> spans_;
};

class ArrowWriter {
  public:
    ArrowWriter(const Plan& plan, std::vector<TraceEnd> flight_of_step)
        : plan_(plan),
          flight_of_step_(std::move(flight_of_step)),
          tasks_of_(plan.work.steps.size()) {
        for (size_t task = 0; task < plan.program.tasks.size(); ++task) {
            tasks_of_[size_t(plan.program.tasks[task].step)].push_back(int32_t(task));
        }
    }

    std::vector<scheduler::TraceArrow> run() {
        std::map<int32_t, int32_t> writers;  // by value
        for (size_t index = 0; index < plan_.work.steps.size(); ++index) {
            const MemoryStep memory =
                describe_step(plan_.work, plan_.facts.known, plan_.work.steps[index]);
            for (const int32_t value : memory.reads) {
                const auto writer = writers.find(value);
                if (writer != writers.end() && lane_of(writer->second) != lane_of(index)) {
                    add(size_t(writer->second), index);
                }
            }
            for (const int32_t value : memory.writes) {
                writers[value] = int32_t(index);
            }
        }
        return std::move(arrows_);
    }

  private:
    // Steps of a lane stand in one row; transfers are a lane of their own.
    std::pair<std::string_view, bool> lane_of(size_t index) const {
        const PlanStep& step = plan_.work.steps[index];
        return step.device == nullptr
                   ? std::pair<std::string_view, bool>()
                   : std::pair<std::string_view, bool>(step.device->device_label, step.is_transfer);
    }
    std::pair<std::string_view, bool> lane_of(int32_t index) const {
        return lane_of(size_t(index));
    }

    TraceEnd end_of(size_t index, bool is_begin) const {
        if (is_submitted(plan_.work.steps[index])) {
            return flight_of_step_[index];
        }
        const std::vector<int32_t>& tasks = tasks_of_[index];
        return tasks.empty() ? TraceEnd() : TraceEnd{is_begin ? tasks.back() : tasks.front()};
    }

    void add(size_t from, size_t to) {
        const PlanStep& step = plan_.work.steps[plan_.work.steps[to].is_transfer ? to : from];
        arrows_.push_back({trace_name(*step.node), end_of(from, true), end_of(to, false)});
    }

    const Plan& plan_;
    std::vector<TraceEnd> flight_of_step_;
    std::vector<std::vector<int32_t>> tasks_of_;  // by step
    std::vector<scheduler::TraceArrow> arrows_;
};

}  // namespace

std::string trace_name(const NodeData& node) {
    return node.name.empty() ? node.op_type : node.name + " (" + node.op_type + ")";
}

DeviceTrace device_trace(const Plan& plan,
                         std::span<const FlightTime> flights,
                         const PlacementForecast& forecast,
                         int64_t run_begin_ns) {
    DeviceTrace trace;
    TraceRowWriter devices(false);
    TraceRowWriter queues(false);
    std::map<std::string, int32_t> spans_of;  // by device
    std::vector<TraceEnd> flight_of_step(plan.work.steps.size());
    for (const FlightTime& flight : flights) {
        const PlanStep& step = plan.work.steps[size_t(flight.step)];
        const std::string& label = step.device->device_label;
        devices.add(label, {trace_name(*step.node), flight.begin_ns, flight.end_ns});
        flight_of_step[size_t(flight.step)].span = spans_of[label]++;
        for (const scheduler::TraceSpan& step_inside : flight.inside) {
            queues.add(label, step_inside);
        }
    }
    devices.write("", trace.rows);
    queues.write("steps on ", trace.rows);
    for (const FlightTime& flight : flights) {
        const std::string& label = plan.work.steps[size_t(flight.step)].device->device_label;
        flight_of_step[size_t(flight.step)].row =
            int32_t(std::distance(spans_of.begin(), spans_of.find(label)));
    }
    trace.arrows = ArrowWriter(plan, std::move(flight_of_step)).run();
    TraceRowWriter forecasts(true);
    for (const ForecastStep& step : forecast.schedule) {
        forecasts.add(step.device, {step.name, run_begin_ns + std::llround(step.begin_ns),
                                    run_begin_ns + std::llround(step.end_ns)});
    }
    forecasts.write("forecast of ", trace.rows);
    return trace;
}

}  // namespace leat
