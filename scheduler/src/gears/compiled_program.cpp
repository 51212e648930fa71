#include "gears/compiled_program.h"

#include <algorithm>

#include "gears/known_progress.h"
#include "gears/wait_reduction.h"

namespace leat::scheduler {
namespace {

// A segment ends after this much estimated work or this many tasks: passing its boundary takes
// about 2 ns, and a late worker gets its list back there.
constexpr double kSegmentNs = 10'000;
constexpr int kSegmentTasks = 64;

// Chooses the waits, then writes the lists.
class ListWriter {
  public:
    ListWriter(const CompactDag& dag, const ListPlacement& placement, int workers)
        : dag_(dag),
          placement_(placement),
          workers_(workers),
          known_(workers),
          position_(size_t(dag.task_count()), 0),
          next_position_(size_t(workers), 0),
          is_awaited_(size_t(dag.task_count()), false),
          lists_(static_cast<size_t>(workers)),
          segments_(static_cast<size_t>(workers)) {}

    CompiledProgram write() {
        find_tile_tasks();
        choose_waits();
        write_lists();
        return join_lists();
    }

  private:
    // A task on one list; -1: on several.
    int lane_of(int32_t task) const {
        const uint16_t lane = placement_.lane[size_t(task)];
        return lane == ListPlacement::kDivided ? -1 : int(lane);
    }
    int32_t at(int32_t place) const {
        return placement_.order.empty() ? dag_.at(place) : placement_.order[size_t(place)];
    }

    void find_tile_tasks() {
        if (dag_.special.empty()) {
            return;
        }
        tile_item_.assign(size_t(dag_.task_count()), -1);
        for (const auto& [id, properties] : dag_.special) {
            const auto index = int32_t(id);
            Task task = properties;
            task.cost_ns = dag_.costs_ns[size_t(index)];
            program_.has_caller_tasks =
                program_.has_caller_tasks || task.affinity == Affinity::kCaller;
            const bool is_divided = lane_of(index) < 0;
            if (task.tile_count == 1 && !is_divided) {
                continue;
            }
            TileItem item{task.tile_count, grain_of(task), index, -1};
            if (is_divided) {
                item.tile_task = int32_t(program_.tile_tasks.size());
                program_.tile_tasks.push_back(
                    {task.tile_count, item.grain, lanes_of(task, workers_)});
            }
            tile_item_[size_t(index)] = int32_t(program_.tile_items.size());
            program_.tile_items.push_back(item);
        }
        waited_tiles_.assign(size_t(workers_),
                             std::vector<bool>(program_.tile_tasks.size(), false));
        if (!program_.tile_tasks.empty() && placement_.order.empty() && dag_.order.empty()) {
            reduction_.emplace(size_t(dag_.task_count()));
        }
    }

    const TileItem* item_of(int32_t task) const {
        if (tile_item_.empty() || tile_item_[size_t(task)] < 0) {
            return nullptr;
        }
        return &program_.tile_items[size_t(tile_item_[size_t(task)])];
    }
    int lanes_of_item(const TileItem& item) const {
        return program_.tile_tasks[size_t(item.tile_task)].lanes;
    }

    // Calls visit(list) for each list that the task is in.
    template <class Visit>
    void for_each_list(int32_t task, const Visit& visit) {
        const int lane = lane_of(task);
        if (lane >= 0) {
            visit(lane);
            return;
        }
        const int lanes = lanes_of_item(*item_of(task));
        for (int list = 0; list < lanes; ++list) {
            visit(list);
        }
    }

    // Predecessors, without those that others imply where that is known.
    std::span<const int32_t> relevant_predecessors(int32_t task) {
        const auto preds = dag_.predecessors(task);
        if (!reduction_) {
            return preds;
        }
        reduced_.assign(preds.begin(), preds.end());
        reduction_->reduce(task, reduced_);
        return reduced_;
    }

    void choose_waits() {
        const int32_t count = dag_.task_count();
        wait_end_.reserve(size_t(count));
        for (int32_t place = 0; place < count; ++place) {
            const int32_t task = at(place);
            const auto preds = relevant_predecessors(task);
            for_each_list(task, [&](int list) {
                choose_waits_of(list, preds);
                position_[size_t(task)] = next_position_[size_t(list)]++;
                wait_end_.push_back(int32_t(waits_.size()));
            });
        }
    }
    void choose_waits_of(int list, std::span<const int32_t> preds) {
        for (const int32_t pred : preds) {
            const int other = lane_of(pred);
            if (other == list) {
                continue;
            }
            if (other < 0) {
                const int32_t tiles = item_of(pred)->tile_task;
                if (!waited_tiles_[size_t(list)][size_t(tiles)]) {
                    waited_tiles_[size_t(list)][size_t(tiles)] = true;
                    waits_.push_back(pred);
                }
                continue;
            }
            if (known_.knows(list, other, position_[size_t(pred)])) {
                continue;
            }
            // A wait for a later task of the same list takes the place of one for an earlier.
            known_.wait(list, next_position_[size_t(list)], other, position_[size_t(pred)]);
            drop_wait_for_list(other);
            waits_.push_back(pred);
        }
        for (size_t i = size_t(wait_begin()); i < waits_.size(); ++i) {
            if (lane_of(waits_[i]) >= 0) {
                is_awaited_[size_t(waits_[i])] = true;
            }
        }
    }
    int32_t wait_begin() const { return wait_end_.empty() ? 0 : wait_end_.back(); }
    void drop_wait_for_list(int other) {
        const auto begin = waits_.begin() + wait_begin();
        waits_.erase(std::remove_if(begin, waits_.end(),
                                    [&](int32_t wait) { return lane_of(wait) == other; }),
                     waits_.end());
    }

    void write_lists() {
        // Published counts by task; positions are no longer needed.
        std::vector<int32_t>& published = position_;
        std::vector<int32_t> publishes(size_t(workers_), 0);
        for (std::vector<uint32_t>& list : lists_) {
            list.reserve(2 * (size_t(dag_.task_count()) + waits_.size()) / lists_.size());
        }
        size_t entry = 0;
        for (int32_t place = 0; place < dag_.task_count(); ++place) {
            const int32_t task = at(place);
            for_each_list(task, [&](int list) {
                const int32_t begin = entry == 0 ? 0 : wait_end_[entry - 1];
                write_waits(list, task, {waits_.data() + begin, waits_.data() + wait_end_[entry]},
                            published);
                ++entry;
                write_task(list, task);
                if (is_awaited_[size_t(task)]) {
                    lists_[size_t(list)].push_back(encode(OtherOp::kPublish));
                    published[size_t(task)] = ++publishes[size_t(list)];
                    ++program_.publishes;
                }
                end_segment(list, task);
            });
        }
    }
    void write_waits(int list,
                     int32_t task,
                     std::span<const int32_t> waits,
                     const std::vector<int32_t>& published) {
        std::vector<uint32_t>& words = lists_[size_t(list)];
        for (const int32_t wait : waits) {
            const int other = lane_of(wait);
            if (other < 0) {
                words.push_back(encode(OtherOp::kWaitTiles));
                words.push_back(uint32_t(item_of(wait)->tile_task));
            } else {
                words.push_back(encode(Opcode::kWait, uint32_t(other)));
                words.push_back(uint32_t(published[size_t(wait)]));
            }
            ++program_.waits;
        }
        if (dag_.point_waits.empty()) {
            return;
        }
        for (const TaskDag::PointWait& wait : dag_.point_waits_of(task)) {
            words.push_back(encode(OtherOp::kWaitPoint));
            words.push_back(uint32_t(program_.point_waits.size()));
            program_.point_waits.push_back(wait);
        }
    }
    void write_task(int list, int32_t task) {
        const bool has_item = item_of(task) != nullptr;
        lists_[size_t(list)].push_back(
            has_item ? encode(Opcode::kTiles, uint32_t(tile_item_[size_t(task)]))
                     : encode(Opcode::kTask, uint32_t(task)));
    }
    // The first segment is one task long: helpers are called after it, so that work starts before
    // the first wake-up.
    void end_segment(int list, int32_t task) {
        const float cost_ns = dag_.costs_ns[size_t(task)];
        Segment& segment = segments_[size_t(list)];
        if (segment.is_first && list == 0) {
            const int64_t pieces = lane_of(task) < 0 ? item_of(task)->tile_count : 1;
            program_.starts_long = double(cost_ns) >= kWakeCostNs * double(pieces);
        }
        segment.cost_ns += cost_ns < 0 ? 0 : double(cost_ns);
        ++segment.tasks;
        if (segment.is_first || segment.tasks >= kSegmentTasks || segment.cost_ns >= kSegmentNs) {
            lists_[size_t(list)].push_back(encode(OtherOp::kBoundary));
            segment = {0, 0, false};
        }
    }

    CompiledProgram join_lists() {
        size_t total = 0;
        for (const std::vector<uint32_t>& list : lists_) {
            total += list.size() + 1;
        }
        program_.words.reserve(total);
        program_.list_begin.push_back(0);
        for (std::vector<uint32_t>& list : lists_) {
            program_.words.insert(program_.words.end(), list.begin(), list.end());
            program_.words.push_back(encode(OtherOp::kEnd));
            program_.list_begin.push_back(uint32_t(program_.words.size()));
            std::vector<uint32_t>().swap(list);
        }
        return std::move(program_);
    }

    struct Segment {
        double cost_ns = 0;
        int tasks = 0;
        bool is_first = true;
    };

    const CompactDag& dag_;
    const ListPlacement& placement_;
    const int workers_;
    CompiledProgram program_;
    KnownProgress known_;
    std::vector<int32_t> position_;       // by task, in its list; later how often it had published
    std::vector<int32_t> next_position_;  // by list
    std::vector<bool> is_awaited_;        // by task, by another list
    // Tasks waited for, of all (task, list) in the order of the lists; where each one's end.
    std::vector<int32_t> waits_;
    std::vector<int32_t> wait_end_;
    std::vector<int32_t> tile_item_;               // by task; -1: a plain task; empty: all are
    std::vector<std::vector<bool>> waited_tiles_;  // [list][tile task]
    std::optional<WaitReduction> reduction_;       // where divided tasks make it worth its time
    std::vector<int32_t> reduced_;
    std::vector<std::vector<uint32_t>> lists_;
    std::vector<Segment> segments_;
};

}  // namespace

CompiledProgram CompiledProgram::make(const CompactDag& dag,
                                      const ListPlacement& placement,
                                      int workers) {
    return ListWriter(dag, placement, workers).write();
}

int64_t CompiledProgram::bytes() const {
    return int64_t(words.capacity() * sizeof(uint32_t) + list_begin.capacity() * sizeof(uint32_t) +
                   tile_tasks.capacity() * sizeof(TileTask) +
                   tile_items.capacity() * sizeof(TileItem) +
                   point_waits.capacity() * sizeof(TaskDag::PointWait));
}

}  // namespace leat::scheduler
