#include "partition/streaming/streamed_constants.h"

#include <algorithm>
#include <utility>

#include "base/first_ready_order.h"
#include "partition/domain_parts.h"

namespace leat {
namespace {

// Of the capacity: what kernels may need besides their operands.
constexpr int64_t kScratchShare = 64;
// More and more of what may be streamed is, in so many steps, until the rest fits.
constexpr int64_t kShares = 16;
// A part's streamed constants are at most one of these parts of the window: the next part's are
// copied meanwhile.
constexpr int64_t kWindowParts[] = {2, 4, 8};

// By group, its place in an order in which all can run; of two that can, that of the first task is
// first. Empty: they wait for each other.
std::vector<int32_t> ranks_of_groups(const scheduler::PlacementProblem& groups) {
    std::vector<std::vector<int32_t>> readers(size_t(groups.task_count));
    for (const scheduler::PlacementUse& use : groups.uses) {
        readers[size_t(groups.values[size_t(use.value)].producer)].push_back(use.reader);
    }
    return first_ready_ranks(readers);
}

// Empty: parts wait for each other.
std::vector<int32_t> ranks_of_tasks(const PartitionProblem& problem, const Partition& partition) {
    const GroupedProblem grouped = grouped_problem(problem, partition);
    const std::vector<int32_t> ranks = ranks_of_groups(grouped.problem);
    std::vector<int32_t> of_tasks;
    for (size_t task = 0; !ranks.empty() && task < grouped.group_of_task.size(); ++task) {
        of_tasks.push_back(ranks[size_t(grouped.group_of_task[task])]);
    }
    return of_tasks;
}

// Which constants go first.
enum class StreamOrder : uint8_t {
    kSpread,  // evenly over the run: copies are made all the time
    kLate,    // those that are read last: there is most time to copy them
};

// One way to stream.
struct StreamWish {
    StreamOrder order = StreamOrder::kSpread;
    int64_t window_parts = 2;
    bool has_room_ahead = true;  // for the next part's constants; else only for one part's
};

std::vector<StreamWish> stream_wishes() {
    std::vector<StreamWish> wishes;
    for (const bool has_room_ahead : {true, false}) {
        for (const StreamOrder order : {StreamOrder::kSpread, StreamOrder::kLate}) {
            for (const int64_t window_parts : kWindowParts) {
                wishes.push_back({order, window_parts, has_room_ahead});
            }
        }
    }
    return wishes;
}

// Indices of `constants` with at least so many bytes, or all that may be streamed.
std::vector<bool> choose_streamed(const std::vector<ReadConstant>& constants,
                                  StreamOrder order,
                                  int64_t wanted_bytes,
                                  int64_t all_bytes) {
    std::vector<bool> chosen(constants.size());
    int64_t bytes = 0;
    double owed_bytes = 0;  // by an even share of what came so far
    for (size_t i = 0; order == StreamOrder::kSpread && i < constants.size(); ++i) {
        if (!constants[i].may_stream) {
            continue;
        }
        const auto own_bytes = double(constants[i].bytes);
        owed_bytes += own_bytes * double(wanted_bytes) / double(all_bytes);
        if (owed_bytes >= own_bytes / 2) {
            chosen[i] = true;
            owed_bytes -= own_bytes;
            bytes += constants[i].bytes;
        }
    }
    for (size_t i = constants.size(); i-- > 0 && bytes < wanted_bytes;) {
        if (constants[i].may_stream && !chosen[i]) {
            chosen[i] = true;
            bytes += constants[i].bytes;
        }
    }
    return chosen;
}

// Before every task that reads a chosen constant first, unless those of its part have room for it.
void cut_parts(const PartitionProblem& problem,
               int32_t domain,
               const std::vector<int64_t>& bytes_of_task,
               int64_t limit_bytes,
               Partition& partition) {
    struct Cut {
        int32_t part = kNoPart;  // that the tasks go to now
        int64_t bytes = 0;
        bool has_tasks = false;
    };
    std::vector<Cut> cuts(size_t(partition.part_count));
    for (int32_t task = 0; task < problem.task_count; ++task) {
        int32_t& part = partition.part_of_task[size_t(task)];
        if (part == kNoPart || domain_of(problem, partition, task) != domain) {
            continue;
        }
        Cut& cut = cuts[size_t(part)];
        const int64_t bytes = bytes_of_task[size_t(task)];
        if (!cut.has_tasks) {
            cut.part = part;
        } else if (bytes > 0 && (cut.bytes == 0 || cut.bytes + bytes > limit_bytes)) {
            cut = {partition.part_count++, 0, false};
        }
        cut.bytes += bytes;
        cut.has_tasks = true;
        part = cut.part;
    }
}

// The streamed constants of a domain, and the room for them.
struct DomainStreams {
    std::vector<ReadConstant> streams;  // by first use
    int64_t room_bytes = 0;             // of a request, beside the constants that stay
    std::vector<int64_t> value_bytes;   // by part
    int64_t missing_bytes = 0;          // 0: each part has room for what it reads
    bool has_room_ahead = false;        // and each for what the next one reads

    // By part: values, and the streamed constants that are there for it or for a later part.
    std::vector<int64_t> bytes_of_parts() const {
        std::vector<int64_t> bytes = value_bytes;
        for (const ReadConstant& stream : streams) {
            for (int32_t part = stream.first_part; part <= stream.last_part; ++part) {
                bytes[size_t(part)] += stream.bytes;
            }
        }
        return bytes;
    }
};

DomainStreams streams_of(const PartitionProblem& problem,
                         const Partition& partition,
                         const DomainParts& parts,
                         int32_t domain) {
    std::vector<bool> is_streamed(problem.constant_bytes.size());
    for (const StreamedConstant& stream : partition.streamed) {
        if (stream.domain == domain) {
            is_streamed[size_t(stream.constant)] = true;
        }
    }
    DomainStreams found;
    const int64_t capacity_bytes = problem.capacity_bytes[size_t(domain)];
    found.room_bytes = capacity_bytes - capacity_bytes / kScratchShare;
    for (const ReadConstant& constant : parts.constants()) {
        if (is_streamed[size_t(constant.constant)]) {
            found.streams.push_back(constant);
        } else {
            found.room_bytes -= constant.bytes;
        }
    }
    found.room_bytes /= problem.request_count;
    found.value_bytes = parts.value_bytes(/*has_free_copies=*/true);
    std::vector<int64_t> bytes = found.bytes_of_parts();
    for (const int64_t own : bytes) {
        found.missing_bytes = std::max(found.missing_bytes, own - found.room_bytes);
    }
    for (const ReadConstant& stream : found.streams) {
        bytes[size_t(std::max(stream.first_part - 1, 0))] +=
            stream.first_part > 0 ? stream.bytes : 0;
    }
    found.has_room_ahead = std::all_of(bytes.begin(), bytes.end(),
                                       [&found](int64_t own) { return own <= found.room_bytes; });
    return found;
}

// By stream: the last part that ends before its copy begins; -1: none. The copies of earlier parts'
// constants get their room first.
std::vector<int32_t> parts_before_copies(const DomainStreams& domain) {
    std::vector<int64_t> bytes = domain.bytes_of_parts();
    std::vector<int32_t> before;
    for (const ReadConstant& stream : domain.streams) {
        int32_t part = stream.first_part - 1;
        while (part >= 0 && bytes[size_t(part)] + stream.bytes <= domain.room_bytes) {
            bytes[size_t(part--)] += stream.bytes;
        }
        before.push_back(part);
    }
    return before;
}

class Streamer {
  public:
    explicit Streamer(const PartitionProblem& problem) : problem_(problem) {}

    StreamedPartitions run(const Partition& partition) {
        StreamedPartitions result;
        const std::vector<int32_t> short_domains = find_short_domains(partition);
        if (short_domains.empty()) {
            return result;
        }
        for (const OperandLife life : {OperandLife::kPart, OperandLife::kTasks}) {
            life_ = life;
            add_candidates(partition, short_domains, result.candidates);
            if (!result.candidates.empty()) {
                return result;
            }
        }
        result.shortage = shortage_;
        return result;
    }

    std::vector<int32_t> find_short_domains(const Partition& partition) const {
        std::vector<int32_t> domains;
        const std::vector<int32_t> ranks = ranks_of_tasks(problem_, partition);
        for (int32_t domain = kHostDomain + 1; domain < int32_t(problem_.capacity_bytes.size());
             ++domain) {
            if (ranks.empty() || problem_.capacity_bytes[size_t(domain)] <= 0) {
                continue;
            }
            const DomainParts parts(problem_, partition, ranks, domain, life_);
            int64_t bytes = 0;
            for (const int64_t own : parts.value_bytes(/*has_free_copies=*/false)) {
                bytes = std::max(bytes, own * problem_.request_count);
            }
            for (const ReadConstant& constant : parts.constants()) {
                bytes += constant.bytes;
            }
            if (bytes > problem_.capacity_bytes[size_t(domain)]) {
                domains.push_back(domain);
            }
        }
        return domains;
    }

  private:
    void add_candidates(const Partition& partition,
                        const std::vector<int32_t>& domains,
                        std::vector<Partition>& candidates) {
        for (const StreamWish& wish : stream_wishes()) {
            std::optional<Partition> candidate = partition;
            for (const int32_t domain : domains) {
                candidate = candidate ? fit(*candidate, domain, wish) : std::nullopt;
            }
            if (candidate && finish(*candidate)) {
                candidates.push_back(*std::move(candidate));
            }
        }
    }

    // With the least share of constants streamed that leaves the room that is wished for.
    std::optional<Partition> fit(const Partition& partition,
                                 int32_t domain,
                                 const StreamWish& wish) {
        const std::vector<int32_t> ranks = ranks_of_tasks(problem_, partition);
        if (ranks.empty()) {
            return std::nullopt;
        }
        const DomainParts parts(problem_, partition, ranks, domain, life_);
        int64_t streamable_bytes = 0;
        for (const ReadConstant& constant : parts.constants()) {
            streamable_bytes += constant.may_stream ? constant.bytes : 0;
        }
        const int64_t missing_bytes = std::min(
            streams_of(problem_, partition, parts, domain).missing_bytes * problem_.request_count,
            streamable_bytes);
        for (int64_t share = 0; share <= kShares; ++share) {
            const int64_t wanted_bytes =
                missing_bytes + (streamable_bytes - missing_bytes) * share / kShares;
            Partition streamed = stream(
                partition, parts, domain,
                choose_streamed(parts.constants(), wish.order, wanted_bytes, streamable_bytes),
                wish.window_parts);
            const std::vector<int32_t> new_ranks = ranks_of_tasks(problem_, streamed);
            const DomainParts new_parts(problem_, streamed, new_ranks, domain, life_);
            const DomainStreams streams = streams_of(problem_, streamed, new_parts, domain);
            if (streams.missing_bytes > 0) {
                note_shortage(domain, streams);
            } else if (streams.has_room_ahead || !wish.has_room_ahead) {
                return streamed;
            }
        }
        return std::nullopt;
    }

    Partition stream(const Partition& partition,
                     const DomainParts& parts,
                     int32_t domain,
                     const std::vector<bool>& chosen,
                     int64_t window_parts) const {
        Partition streamed = partition;
        std::vector<int64_t> bytes_of_task(size_t(problem_.task_count));
        for (size_t i = 0; i < chosen.size(); ++i) {
            if (chosen[i]) {
                const ReadConstant& constant = parts.constants()[i];
                streamed.streamed.push_back({constant.constant, domain, kNoTask});
                bytes_of_task[size_t(constant.first_task)] += constant.bytes;
            }
        }
        const DomainStreams uncut = streams_of(problem_, streamed, parts, domain);
        const int64_t window_bytes = uncut.room_bytes - *std::max_element(uncut.value_bytes.begin(),
                                                                          uncut.value_bytes.end());
        cut_parts(problem_, domain, bytes_of_task, window_bytes / window_parts, streamed);
        return streamed;
    }

    void note_shortage(int32_t domain, const DomainStreams& streams) {
        MemoryShortage shortage;
        shortage.domain = domain;
        shortage.capacity_bytes = problem_.capacity_bytes[size_t(domain)];
        shortage.needed_bytes =
            shortage.capacity_bytes + streams.missing_bytes * problem_.request_count;
        for (const ReadConstant& stream : streams.streams) {
            const auto bytes = [this](int32_t constant) {
                return constant < 0 ? -1 : problem_.constant_bytes[size_t(constant)];
            };
            if (bytes(stream.constant) > bytes(shortage.constant)) {
                shortage.constant = stream.constant;
            }
        }
        if (!shortage_ || shortage.short_bytes() < shortage_->short_bytes()) {
            shortage_ = shortage;
        }
    }

    // The order of the parts, and how far ahead copies may be. False: other domains' cuts left too
    // little.
    bool finish(Partition& partition) const {
        number_parts(partition);
        const std::vector<int32_t> ranks = ranks_of_tasks(problem_, partition);
        std::vector<int32_t> domains;
        for (const StreamedConstant& stream : partition.streamed) {
            if (domains.empty() || domains.back() != stream.domain) {
                domains.push_back(stream.domain);
            }
        }
        for (const int32_t domain : domains) {
            const DomainParts parts(problem_, partition, ranks, domain, life_);
            const DomainStreams streams = streams_of(problem_, partition, parts, domain);
            if (streams.missing_bytes > 0) {
                return false;
            }
            for (int32_t part = 1; part < parts.part_count(); ++part) {
                partition.part_orders.emplace_back(parts.last_task(part - 1),
                                                   parts.first_task(part));
            }
            const std::vector<int32_t> before = parts_before_copies(streams);
            std::vector<int32_t> after_task(problem_.constant_bytes.size(), kNoTask);
            for (size_t i = 0; i < before.size(); ++i) {
                after_task[size_t(streams.streams[i].constant)] =
                    before[i] < 0 ? kNoTask : parts.last_task(before[i]);
            }
            for (StreamedConstant& stream : partition.streamed) {
                if (stream.domain == domain) {
                    stream.after_task = after_task[size_t(stream.constant)];
                }
            }
        }
        return true;
    }

    const PartitionProblem& problem_;
    OperandLife life_ = OperandLife::kTasks;
    std::optional<MemoryShortage> shortage_;  // the smallest that was met
};

}  // namespace

StreamedPartitions stream_constants(const PartitionProblem& problem, const Partition& partition) {
    return Streamer(problem).run(partition);
}

bool needs_streaming(const PartitionProblem& problem, const Partition& partition) {
    return !Streamer(problem).find_short_domains(partition).empty();
}

PartitionProblem with_streamed_values(const PartitionProblem& problem, const Partition& partition) {
    PartitionProblem whole = problem;
    for (const StreamedConstant& stream : partition.streamed) {
        const auto value = int32_t(whole.values.size());
        whole.values.push_back({0, problem.constant_bytes[size_t(stream.constant)]});
        for (const ConstantUse& use : problem.constant_uses) {
            if (use.constant == stream.constant &&
                domain_of(problem, partition, use.task) == stream.domain) {
                whole.uses.push_back({value, use.task});
            }
        }
    }
    return whole;
}

}  // namespace leat
