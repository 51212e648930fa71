#include "gears/dynamic_program.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "placement/list_placement.h"

namespace leat::scheduler {
namespace {

constexpr int32_t kFan = DynamicProgram::kMaxFan;
// Claims of a task whose cost nobody knows: enough for 64 workers to end within 1/8 of a share.
constexpr int64_t kMostClaims = 512;

int32_t groups_of(int64_t edges) {
    return int32_t((edges + kFan - 1) / kFan);
}

class DynamicCompiler {
  public:
    DynamicCompiler(const CompactDag& dag, std::span<const int> worker_domains)
        : dag_(dag), worker_domains_(worker_domains) {}

    DynamicProgram make() {
        SuccessorArrays successors(dag_);
        reserve_nodes(successors);
        add_tasks();
        add_special_tasks();
        add_wishes();
        add_point_waits();
        connect_sinks(successors);
        for (int32_t node = 0; node < program_.task_count; ++node) {
            if (join_of(node) > kFan) {
                add_join_tree(node, join_of(node));
            }
        }
        connect_successors(successors);
        connect_roots();
        for (const auto& [node, tree] : join_trees_) {
            program_.nodes[size_t(node)].join = tree.top_count;
        }
        for (const DynamicProgram::PointWait& wait : program_.point_waits) {
            ++program_.nodes[size_t(wait.node)].join;
        }
        return std::move(program_);
    }

  private:
    // Nodes between a node and more than kFan predecessors.
    struct JoinTree {
        int32_t first_leaf = 0;
        int32_t used = 0;  // edges that lead to leaves so far
        int32_t top_count = 0;
    };

    int32_t join_of(int32_t node) const { return program_.nodes[size_t(node)].join; }

    // Once: doubling would keep twice the memory.
    void reserve_nodes(const SuccessorArrays& successors) {
        constexpr int64_t kRounding = int64_t{kFan} * kFan;  // a node more on each of few levels
        int64_t ends = 0;       // edges from the entry and to the final node
        int64_t fan_edges = 0;  // of fans that get a tree
        for (int32_t task = 0; task < dag_.task_count(); ++task) {
            const auto before = int64_t(dag_.predecessors(task).size());
            const auto after = int64_t(successors.of(task).size());
            ends += int64_t(before == 0) + int64_t(after == 0);
            fan_edges += before > kFan ? before + kRounding : 0;
            fan_edges += after > kFan ? after + kRounding : 0;
        }
        constexpr int64_t kOthers = 2 + 4 * kFan;  // entry, final, nodes of small trees
        program_.nodes.reserve(
            size_t(dag_.task_count() + (ends + fan_edges) / (kFan - 1) + kOthers));
    }

    void add_tasks() {
        program_.task_count = dag_.task_count();
        program_.entry = program_.task_count;
        program_.final = program_.task_count + 1;
        double known_ns = 0;
        int64_t known = 0;
        for (int32_t task = 0; task < program_.task_count; ++task) {
            if (dag_.predecessors(task).empty()) {
                roots_.push_back(task);
            }
            if (dag_.costs_ns[size_t(task)] >= 0) {
                known_ns += double(dag_.costs_ns[size_t(task)]);
                ++known;
            }
        }
        unknown_cost_ns_ = known > 0 ? float(known_ns / double(known)) : 0;
        program_.nodes.resize(size_t(program_.task_count) + 2);
        for (int32_t task = 0; task < program_.task_count; ++task) {
            const auto join = int32_t(dag_.predecessors(task).size());
            program_.nodes[size_t(task)].join = join > 0 ? join : 1;
        }
    }

    void add_special_tasks() {
        uint32_t priorities = dag_.special.size() < size_t(program_.task_count)
                                  ? 1U << unsigned(Priority::kNormal)
                                  : 0U;
        for (const auto& [id, task] : dag_.special) {
            DynamicNode& node = program_.nodes[size_t(id)];
            priorities |= 1U << unsigned(task.priority);
            node.level = uint8_t(task.priority);
            if (task.affinity == Affinity::kCaller) {
                node.traits |= DynamicNode::kCaller;
                program_.has_caller_tasks = true;
            }
            if (task.tile_count != 1) {
                node.traits |= DynamicNode::kTiled;
                program_.tiled.push_back(
                    {int32_t(id), task.tile_count, tiles_a_claim(dag_.task(int32_t(id)))});
            }
        }
        if ((priorities & (priorities - 1)) != 0) {
            program_.level_count = DynamicProgram::kMaxLevels;
            for (int32_t task = 0; task < program_.task_count && !dag_.special.empty(); ++task) {
                program_.nodes[size_t(task)].level = uint8_t(Priority::kNormal);
            }
        }
        for (const auto& [id, task] : dag_.special) {
            program_.nodes[size_t(id)].level =
                program_.level_count > 1 ? uint8_t(task.priority) : uint8_t(0);
        }
    }

    // A wish has an effect where some workers are of that domain and some are not. Tiles are for
    // all, and the calling thread is where it is.
    void add_wishes() {
        for (const auto& [id, task] : dag_.special) {
            const bool can_move = task.tile_count == 1 && task.affinity == Affinity::kAny;
            const auto fitting =
                std::count(worker_domains_.begin(), worker_domains_.end(), task.domain);
            if (!can_move || task.domain < 0 || fitting == 0 ||
                size_t(fitting) == worker_domains_.size()) {
                continue;
            }
            if (program_.wished_domains.empty()) {
                program_.wished_domains.assign(size_t(program_.task_count), Task::kAnyDomain);
                program_.worker_domains.assign(worker_domains_.begin(), worker_domains_.end());
            }
            program_.wished_domains[size_t(id)] = task.domain;
            program_.nodes[size_t(id)].traits |= DynamicNode::kWished;
        }
    }

    static int64_t tiles_a_claim(const Task& task) {
        const int64_t fewest = task.tile_count / kMostClaims + 1;
        return std::max(fewest, std::min(grain_of(task), task.tile_count));
    }

    void add_point_waits() {
        std::vector<std::pair<int32_t, DynamicProgram::PointWait>> waits;
        for (const TaskDag::PointWait& wait : dag_.point_waits) {
            if (wait.value > 0) {  // a point starts at 0
                waits.push_back({int32_t(wait.point), {wait.value, int32_t(wait.task)}});
            }
        }
        std::stable_sort(waits.begin(), waits.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first < b.first : a.second.value < b.second.value;
        });
        program_.waits_begin.assign(size_t(dag_.point_count) + 1, 0);
        for (const auto& [point, wait] : waits) {
            ++program_.waits_begin[size_t(point) + 1];
            program_.point_waits.push_back(wait);
            program_.nodes[size_t(wait.node)].traits |= DynamicNode::kWaits;
        }
        for (size_t i = 1; i < program_.waits_begin.size(); ++i) {
            program_.waits_begin[i] += program_.waits_begin[i - 1];
        }
    }

    int32_t add_node(int32_t join) {
        program_.nodes.emplace_back();
        program_.nodes.back().join = join;
        return int32_t(program_.nodes.size()) - 1;
    }

    // The final node follows every task without successors.
    void connect_sinks(const SuccessorArrays& successors) {
        int32_t sinks = program_.task_count == 0 ? 1 : 0;  // the entry
        for (int32_t task = 0; task < program_.task_count; ++task) {
            sinks += int32_t(successors.of(task).empty());
        }
        program_.nodes[size_t(program_.final)].join = sinks;
        if (sinks > kFan) {
            add_join_tree(program_.final, sinks);
        }
    }

    void add_join_tree(int32_t node, int32_t edges) {
        JoinTree& tree = join_trees_[node];
        tree.first_leaf = int32_t(program_.nodes.size());
        int32_t first = tree.first_leaf;
        int32_t count = groups_of(edges);
        for (int32_t i = 0; i < count; ++i) {
            add_node(std::min(kFan, edges - i * kFan));
        }
        while (count > kFan) {
            const auto first_above = int32_t(program_.nodes.size());
            const int32_t above = groups_of(count);
            for (int32_t i = 0; i < above; ++i) {
                add_node(std::min(kFan, count - i * kFan));
            }
            for (int32_t i = 0; i < count; ++i) {
                const int32_t parent = first_above + i / kFan;
                const int32_t below = first + i;
                program_.nodes[size_t(below)].first = {parent, join_of(parent) == 1};
            }
            first = first_above;
            count = above;
        }
        for (int32_t i = 0; i < count; ++i) {
            const int32_t below = first + i;
            program_.nodes[size_t(below)].first = {node, false};
        }
        tree.top_count = count;
    }

    DynamicEdge edge_to(int32_t node) {
        const DynamicNode& target = program_.nodes[size_t(node)];
        if (target.join <= kFan) {
            return {node, target.join == 1 && (target.traits & DynamicNode::kWaits) == 0};
        }
        JoinTree& tree = join_trees_[node];
        const int32_t leaf = tree.first_leaf + tree.used++ / kFan;
        return {leaf, join_of(leaf) == 1};
    }

    // Also sorts successors by rank: the length of the longest way from the start of a node to the
    // end of the run.
    void connect_successors(SuccessorArrays& successors) {
        ranks_.assign(size_t(program_.task_count), 0);
        program_.edges.resize(successors.succs.size());
        for (int32_t place = program_.task_count; place-- > 0;) {
            const int32_t task = dag_.at(place);
            const int32_t begin = successors.begin[size_t(task)];
            const int32_t end = successors.begin[size_t(task) + 1];
            const float cost_ns = dag_.costs_ns[size_t(task)];
            // At least 1 ns: of tasks without cost the longest chain counts.
            const float length_ns = std::max(cost_ns >= 0 ? cost_ns : unknown_cost_ns_, 1.0F);
            if (begin == end) {
                program_.nodes[size_t(task)].first = edge_to(program_.final);
                ranks_[size_t(task)] = length_ns;
                continue;
            }
            int32_t* const succs = successors.succs.data();
            sort_by_rank(succs + begin, succs + end);
            ranks_[size_t(task)] = length_ns + ranks_[size_t(succs[end - 1])];
            for (int32_t i = begin; i < end; ++i) {
                program_.edges[size_t(i)] = edge_to(succs[i]);
            }
            set_successors(task, begin, end);
        }
    }

    // Ascending; of equal ones the task added first comes last, so that workers, who continue with
    // the last, keep to the order of the tasks where nothing else decides (wavefront of 300 x 300:
    // 10 -> 6 ns a task, because neighbours share cache lines).
    void sort_by_rank(int32_t* begin, int32_t* end) const {
        const auto comes_first = [&](int32_t a, int32_t b) {
            const float rank_a = ranks_[size_t(a)];
            const float rank_b = ranks_[size_t(b)];
            return rank_a != rank_b ? rank_a < rank_b : a > b;
        };
        if (end - begin > kFan) {
            std::sort(begin, end, comes_first);
            return;
        }
        for (int32_t* next = begin + 1; next < end; ++next) {
            const int32_t moving = *next;
            int32_t* place = next;
            for (; place > begin && comes_first(moving, place[-1]); --place) {
                *place = place[-1];
            }
            *place = moving;
        }
    }

    void connect_roots() {
        if (roots_.empty()) {
            program_.nodes[size_t(program_.entry)].first = edge_to(program_.final);
            return;
        }
        sort_by_rank(roots_.data(), roots_.data() + roots_.size());
        program_.starts_long =
            roots_.size() > 1 && double(dag_.costs_ns[size_t(roots_.back())]) >= kWakeCostNs;
        const auto begin = int32_t(program_.edges.size());
        program_.edges.reserve(program_.edges.size() + roots_.size() + roots_.size() / (kFan - 1) +
                               2);
        for (const int32_t root : roots_) {
            program_.edges.push_back(edge_to(root));
        }
        set_successors(program_.entry, begin, int32_t(program_.edges.size()));
    }

    // [begin, end) of the edges are those of `node`; more than kFan get a tree.
    void set_successors(int32_t node, int32_t begin, int32_t end) {
        while (end - begin > kFan) {
            const auto above = int32_t(program_.edges.size());
            for (int32_t from = begin; from < end; from += kFan) {
                const int32_t group = add_node(1);
                take_edges(group, from, std::min(from + kFan, end));
                program_.edges.emplace_back(group, true);
            }
            begin = above;
            end = int32_t(program_.edges.size());
        }
        take_edges(node, begin, end);
    }

    void take_edges(int32_t node, int32_t begin, int32_t end) {
        DynamicNode& source = program_.nodes[size_t(node)];
        source.first = program_.edges[size_t(end) - 1];
        source.others_begin = begin;
        source.others_count = uint16_t(end - 1 - begin);
    }

    const CompactDag& dag_;
    const std::span<const int> worker_domains_;
    DynamicProgram program_;
    std::vector<int32_t> roots_;
    std::vector<float> ranks_;
    std::unordered_map<int32_t, JoinTree> join_trees_;
    float unknown_cost_ns_ = 0;
};

}  // namespace

DynamicProgram DynamicProgram::make(const CompactDag& dag, std::span<const int> worker_domains) {
    return DynamicCompiler(dag, worker_domains).make();
}

int DynamicProgram::domain_count() const {
    const auto most = std::max_element(worker_domains.begin(), worker_domains.end());
    return most == worker_domains.end() ? 0 : *most + 1;
}

const DynamicProgram::TiledTask& DynamicProgram::tiled_task(int32_t node) const {
    return *std::lower_bound(tiled.begin(), tiled.end(), node,
                             [](const TiledTask& task, int32_t id) { return task.node < id; });
}

int64_t DynamicProgram::bytes() const {
    return int64_t(
        nodes.capacity() * sizeof(DynamicNode) + edges.capacity() * sizeof(DynamicEdge) +
        tiled.capacity() * sizeof(TiledTask) + point_waits.capacity() * sizeof(PointWait) +
        waits_begin.capacity() * sizeof(int32_t) + wished_domains.capacity() * sizeof(int32_t) +
        worker_domains.capacity() * sizeof(int));
}

}  // namespace leat::scheduler
