#include "runtime/step_tasks.h"

#include <algorithm>

#include "base/parts.h"
#include "memory/step_order.h"

namespace leat {
namespace {

using scheduler::TaskId;

// More waits between the tasks of two steps than this go through one task between them.
constexpr int64_t kMostWaits = 16;

// What a submission takes on the host, about.
constexpr double kSubmissionNs = 10'000;

}  // namespace

// First of all that is ready: so that the device has something to do meanwhile, and others the
// results.
std::pair<TaskId, TaskId> add_device_tasks(int32_t step,
                                           scheduler::TaskDag& dag,
                                           std::vector<StepTask>& tasks) {
    const scheduler::Task task{.cost_ns = kSubmissionNs, .priority = scheduler::Priority::kHigh};
    const TaskId submit = dag.add(task);
    const TaskId finish = dag.add(task);
    const scheduler::PointId point = dag.add_point();
    dag.precede(submit, finish);
    dag.wait_for(finish, point, 1);
    tasks.push_back(
        {.step = step, .kind = StepTask::Kind::kSubmit, .point = point, .finish = finish});
    tasks.push_back({.step = step, .kind = StepTask::Kind::kFinish, .point = point});
    return {submit, finish};
}

std::pair<TaskId, TaskId> add_elapsing_tasks(int32_t step,
                                             const scheduler::Task& task,
                                             int64_t virtual_ns,
                                             scheduler::TaskDag& dag,
                                             std::vector<StepTask>& tasks) {
    const TaskId whole = dag.add(task);
    const TaskId elapsed = dag.add({.cost_ns = 0});
    const scheduler::PointId point = dag.add_point();
    dag.precede(whole, elapsed);
    dag.wait_for(elapsed, point, 1);
    tasks.push_back({.step = step, .point = point, .finish = elapsed, .virtual_ns = virtual_ns});
    tasks.push_back({.step = step, .kind = StepTask::Kind::kElapsed, .point = point});
    return {whole, elapsed};
}

ByteRange bytes_of_tiles(const TiledStep& step,
                         const StepOperand& operand,
                         int64_t tile_begin,
                         int64_t tile_end) {
    ByteRange own = kAllBytes;
    if (operand.kind == StepOperand::Kind::kInput) {
        own = step.kernel->bytes_read(size_t(operand.index), tile_begin, tile_end);
    } else if (operand.kind == StepOperand::Kind::kEpilogue ||
               (operand.kind == StepOperand::Kind::kOutput && operand.index == 0)) {
        own = step.kernel->bytes_written(tile_begin, tile_end);
    }
    const int64_t size = operand.bytes.end - operand.bytes.begin;
    return {operand.bytes.begin + std::min(own.begin, size),
            operand.bytes.begin + std::min(own.end, size)};
}

// Writes the tasks of one program.
class StepTasks::ProgramWriter {
  public:
    explicit ProgramWriter(size_t steps) : tasks_of_(steps), joint_(steps) {
        program_.tasks.reserve(steps);
    }

    void add(const StepTask& task, double cost_ns, int64_t tile_count) {
        tasks_of_[size_t(task.step)].push_back(add_task(task, cost_ns, tile_count));
    }
    // A task after all of the step's, to wait for instead of them. After the last add of the step.
    void add_joint(size_t step) {
        joint_[step].push_back(add_task({int32_t(step), StepTask::Kind::kJoint}, 0, 1));
        precede(tasks_of_[step], joint_[step]);
    }

    // To wait for the second task is to wait for the step.
    void add_on_device(size_t step) {
        const auto [submit, finish] = add_device_tasks(int32_t(step), program_.dag, program_.tasks);
        tasks_of_[step].push_back(submit);
        joint_[step].push_back(finish);
    }

    // Every task of `step` waits for every task of `producer`.
    void wait_for_all(size_t step, size_t producer) {
        precede(joint_[producer].empty() ? tasks_of_[producer] : joint_[producer], tasks_of_[step]);
    }
    void wait_for_part(size_t step, size_t part, size_t producer, size_t part_of_producer) {
        program_.dag.precede(tasks_of_[producer][part_of_producer], tasks_of_[step][part]);
    }
    void count_tile_wait() { ++program_.tile_waits; }

    StepTasks::Program take() { return std::move(program_); }

  private:
    TaskId add_task(const StepTask& task, double cost_ns, int64_t tile_count) {
        program_.tasks.push_back(task);
        return program_.dag.add({.cost_ns = cost_ns, .tile_count = tile_count});
    }
    void precede(std::span<const TaskId> before, std::span<const TaskId> after) {
        for (const TaskId first : before) {
            for (const TaskId second : after) {
                program_.dag.precede(first, second);
            }
        }
    }

    StepTasks::Program program_;
    std::vector<std::vector<TaskId>> tasks_of_;  // by step
    std::vector<std::vector<TaskId>> joint_;     // by step: none or one
};

void StepTasks::find_tile_waits(std::span<const std::vector<int32_t>> data_waits,
                                int64_t most_parts) {
    part_count_.reserve(steps_.size());
    for (const TiledStep& step : steps_) {
        part_count_.push_back(std::min(step.kernel->column_tiles(), most_parts));
    }
    producers_.resize(steps_.size());
    for (size_t step = 0; step < steps_.size(); ++step) {
        producers_[step].reserve(data_waits[step].size());
        for (const int32_t producer : data_waits[step]) {
            producers_[step].push_back(tile_waits(step, size_t(producer)));
        }
    }
}

int64_t StepTasks::first_tile(size_t step, int64_t part) const {
    return part_begin(steps_[step].kernel->column_tiles(), part_count_[step], part);
}

ByteRange StepTasks::bytes_of_part(size_t step, const StepOperand& operand, int64_t part) const {
    return bytes_of_tiles(steps_[step], operand, first_tile(step, part),
                          first_tile(step, part + 1));
}

// The part reads or writes some of the bytes.
bool StepTasks::touches(size_t step, int64_t part, int32_t memory, ByteRange bytes) const {
    const std::vector<StepOperand>& operands = steps_[step].operands;
    return std::any_of(operands.begin(), operands.end(), [&](const StepOperand& operand) {
        return operand.memory == memory && bytes_of_part(step, operand, part).meets(bytes);
    });
}

bool StepTasks::ends_before_overwritten(int32_t user,
                                        int32_t writer,
                                        int32_t memory,
                                        ByteRange place) const {
    const auto step = size_t(writer);
    const std::vector<TileWaits>& producers = producers_[step];
    const auto waits =
        std::find_if(producers.begin(), producers.end(),
                     [user](const TileWaits& candidate) { return candidate.producer == user; });
    const std::vector<StepOperand>& operands = steps_[step].operands;
    const auto output = std::find_if(operands.begin(), operands.end(), [](const auto& operand) {
        return operand.kind == StepOperand::Kind::kOutput && operand.index == 0;
    });
    if (waits == producers.end() || waits->needs.empty() || output == operands.end()) {
        return false;
    }
    const int64_t parts_before = part_count_[size_t(user)];
    for (int64_t part = 0; part < part_count_[step]; ++part) {
        const ByteRange written = bytes_of_part(step, *output, part);
        const int64_t shift = place.begin - output->bytes.begin;
        const ByteRange bytes{written.begin + shift, written.end + shift};
        for (int64_t before = 0; before < parts_before; ++before) {
            if (!waits->needs[size_t(part * parts_before + before)] &&
                touches(size_t(user), before, memory, bytes)) {
                return false;
            }
        }
        for (int64_t other = 0; other < part_count_[step]; ++other) {
            if (other != part && touches(step, other, memory, bytes)) {
                return false;
            }
        }
    }
    return true;
}

StepTasks::TileWaits StepTasks::tile_waits(size_t step, size_t producer) const {
    const int64_t parts = part_count_[step];
    const int64_t parts_before = part_count_[producer];
    TileWaits waits{int32_t(producer), {}};
    if (parts == 1 || parts_before == 1) {
        return waits;
    }
    waits.needs.assign(size_t(parts) * size_t(parts_before), false);
    const auto mark = [&](const StepOperand& read, const StepOperand& written) {
        for (int64_t i = 0; i < parts * parts_before; ++i) {
            const ByteRange wanted = bytes_of_part(step, read, i / parts_before);
            const ByteRange made = bytes_of_part(producer, written, i % parts_before);
            waits.needs[size_t(i)] = waits.needs[size_t(i)] || wanted.meets(made);
        }
    };
    for (const StepOperand& read : steps_[step].operands) {
        for (const StepOperand& written : steps_[producer].operands) {
            const bool is_flow = read.kind != StepOperand::Kind::kOutput &&
                                 written.kind == StepOperand::Kind::kOutput;
            if (is_flow && read.memory == written.memory && read.bytes.meets(written.bytes)) {
                mark(read, written);
            }
        }
    }
    if (std::find(waits.needs.begin(), waits.needs.end(), false) == waits.needs.end()) {
        waits.needs.clear();
    }
    return waits;
}

std::vector<std::vector<StepInput>> StepTasks::inputs() const {
    std::vector<std::vector<StepInput>> inputs(producers_.size());
    for (size_t step = 0; step < producers_.size(); ++step) {
        inputs[step].reserve(producers_[step].size());
        for (const TileWaits& waits : producers_[step]) {
            inputs[step].push_back({waits.producer, waits.needs.empty()});
        }
    }
    return inputs;
}

// Data edges that whole waits do not imply, by step.
std::vector<std::vector<const StepTasks::TileWaits*>> StepTasks::tiled_edges(
    std::span<const std::vector<int32_t>> whole_waits) const {
    std::vector<std::vector<const TileWaits*>> tiled(steps_.size());
    if (producers_.empty()) {
        return tiled;
    }
    const StepOrder proved(whole_waits);
    for (size_t step = 0; step < steps_.size(); ++step) {
        tiled[step].reserve(producers_[step].size());
        for (const TileWaits& waits : producers_[step]) {
            if (!proved.precedes(waits.producer, int32_t(step))) {
                tiled[step].push_back(&waits);
            }
        }
    }
    return tiled;
}

StepTasks::Program StepTasks::make_program(
    std::span<const std::vector<int32_t>> whole_waits) const {
    const std::vector<std::vector<const TileWaits*>> tiled = tiled_edges(whole_waits);
    std::vector<int64_t> parts(steps_.size(), 1);
    for (size_t step = 0; step < steps_.size(); ++step) {
        for (const TileWaits* waits : tiled[step]) {
            parts[step] = part_count_[step];
            parts[size_t(waits->producer)] = part_count_[size_t(waits->producer)];
        }
    }
    std::vector<bool> has_joint(steps_.size(), false);
    for (size_t step = 0; step < steps_.size(); ++step) {
        for (const int32_t before : whole_waits[step]) {
            has_joint[size_t(before)] =
                has_joint[size_t(before)] || parts[step] * parts[size_t(before)] > kMostWaits;
        }
    }
    ProgramWriter writer(steps_.size());
    for (size_t step = 0; step < steps_.size(); ++step) {
        add_tasks(step, parts[step], writer);
        if (has_joint[step] && !steps_[step].is_on_device) {
            writer.add_joint(step);
        }
        for (const int32_t before : whole_waits[step]) {
            writer.wait_for_all(step, size_t(before));
        }
        for (const TileWaits* waits : tiled[step]) {
            add_tile_waits(step, *waits, writer);
        }
    }
    return writer.take();
}

void StepTasks::add_tasks(size_t step, int64_t parts, ProgramWriter& writer) const {
    const TiledStep& own = steps_[step];
    if (own.is_on_device) {
        writer.add_on_device(step);
        return;
    }
    if (parts == 1) {
        writer.add({int32_t(step)}, own.cost_ns, own.kernel->tile_count);
        return;
    }
    const int64_t tiles = own.kernel->column_tiles();
    for (int64_t part = 0; part < parts; ++part) {
        const int64_t begin = first_tile(step, part);
        const int64_t end = first_tile(step, part + 1);
        writer.add({int32_t(step), StepTask::Kind::kPart, begin, end},
                   own.cost_ns * double(end - begin) / double(tiles), 1);
    }
}

void StepTasks::add_tile_waits(size_t step, const TileWaits& waits, ProgramWriter& writer) const {
    writer.count_tile_wait();
    const auto producer = size_t(waits.producer);
    const auto parts_before = size_t(part_count_[producer]);
    for (size_t i = 0; i < waits.needs.size(); ++i) {
        if (waits.needs[i]) {
            writer.wait_for_part(step, i / parts_before, producer, i % parts_before);
        }
    }
}

}  // namespace leat
