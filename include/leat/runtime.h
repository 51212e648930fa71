// Runtime, CompiledGraph, Request: from a Graph to results.
//
// Runtime owns threads, topology and packed weights; CompiledGraph is immutable and may be shared
// by any number of threads; a Request owns its memory and is used by one thread at a time: what a
// second one calls meanwhile is kBusy. Nothing here throws (but see status.h about memory that runs
// out), writes to stdout or stderr, or aborts on input. Objects may be destroyed in any order: each
// keeps what it needs alive.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "leat/calibration_report.h"
#include "leat/custom_operator.h"
#include "leat/export.h"
#include "leat/graph.h"
#include "leat/placement_report.h"
#include "leat/status.h"
#include "leat/tensor.h"

namespace leat {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };
// What it throws is ignored.
using Logger = std::function<void(LogLevel, std::string_view)>;

// Which CPUs are one compute domain, with memory of its own. kAuto: those of a NUMA node.
enum class NumaUnit : uint8_t { kAuto, kPackage, kNode, kLevel3Cache };

// Which nodes' threads run a request. kAuto: kOneNode.
enum class RequestSpan : uint8_t {
    kAuto,
    kOneNode,   // those of the request's own: no byte of its memory is read from afar
    kAllNodes,  // all: its values, on its own node, are shared with the threads of the others
    // Each node's a part of the batch, with memory of their own, where the results for one element
    // of it do not depend on the others; else as kOneNode. Results are the same to the bit.
    kBatchShards,
};

// Where packed weights are when threads of several nodes read them. kAuto: where requests keep to
// one node what a cost model finds best for each constant within what is free on the nodes (a copy
// on each while there is room; one copy of all under a memory limit), else kPartition.
enum class WeightPlacement : uint8_t {
    kAuto,
    kHome,        // on the node where the Runtime is made
    kInterleave,  // page by page in turn on the nodes of all threads
    kReplicate,   // a copy on each node; for requests that keep to one
    // On each node the part that its threads begin with, of constants that kernels read in parts;
    // pages of the others take turns. For RequestSpan::kAllNodes.
    kPartition,
};

struct NumaOptions {
    // False: one domain of all CPUs, and memory wherever it is touched first.
    bool is_on = true;
    // Also what a request keeps to, under kOneNode.
    NumaUnit unit = NumaUnit::kAuto;
    RequestSpan requests = RequestSpan::kAuto;
    WeightPlacement weights = WeightPlacement::kAuto;
    // Memory that does not fit its node is an error of compile(), prepare() and make_request(),
    // instead of going to another node.
    bool is_strict = false;
    // Of leat's memory on each node; 0 and less: what is free there, and what control groups allow.
    int64_t node_limit_bytes = 0;
    // A loaded hwloc_topology_t of the host program, read by the Runtime's constructor only: then
    // none is loaded. Null: leat loads one, once per process.
    void* hwloc_topology = nullptr;
};

struct RuntimeOptions {
    // Of one run. 0: as many as affinity mask and cgroup quota (v1 and v2, rounded down) allow. A
    // larger number is honoured unpinned, with one warning to the logger.
    int threads = 0;
    bool pin_threads = true;
    NumaOptions numa = {};
    // Where shared objects of backends are: a file, or a folder that is looked in before that of
    // the installation. A name without a slash is in the current folder.
    std::string backend_path = {};
    // Named settings of backends, by backend and name; an unknown one is an error of compile().
    std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>
        backend_settings = {};
    // Where times of operators that were measured (CompileOptions::calibrate) are kept; empty:
    // leat/costs in the user's cache folder ($XDG_CACHE_HOME or ~/.cache).
    std::string calibration_folder = {};
    // Custom operators, shared with whoever has copies of the library; none: one of its own.
    std::optional<OperatorLibrary> operators = {};
    // Shared objects with custom operators, as for load_operators; one that cannot be loaded is an
    // error of compile().
    std::vector<std::string> operator_libraries = {};
    Logger logger = {};  // default: silent. May be called from any thread that calls leat.
};

// A NUMA node that this process may use memory of.
struct MemoryNodeInfo {
    int numa_node = 0;           // the system's number
    bool has_cpus = true;        // some of the Runtime's CPUs are served by it
    int64_t capacity_bytes = 0;  // 0: unknown
    int64_t budget_bytes = 0;    // that could be taken when the Runtime was made
    std::string budget_reason;   // what decided that
    std::string policy;          // the strongest that works: "bind", "prefer", "first touch", ...
                                 // empty: it is the only node
    double bandwidth_mib_per_s = 0;  // from its own CPUs, as the firmware tells; 0: unknown
    double latency_ns = 0;           // the same
};

// What the machine gives this process, and where the number of threads came from.
struct HostInfo {
    std::string cpu_name;
    std::string simd;       // instruction set that the CPU kernels use
    int hardware_cpus = 0;  // online in the machine
    int affinity_cpus = 0;  // in the affinity mask
    double quota_cpus = 0;  // cgroup quota; 0: none
    int numa_nodes = 1;
    int threads = 0;             // what the Runtime uses; in a child of fork(): what is left
    std::string threads_source;  // "affinity", "cgroup quota", "option", ...
    bool pinned = false;
    std::string pinning_note;  // why not pinned, or fewer threads than asked for; else empty
    std::vector<MemoryNodeInfo> memory_nodes;  // empty: unknown, or NumaOptions say off
};

// shapes of inputs, by input name
using InputShapes = std::map<std::string, Shape, std::less<>>;

enum class Fallback : uint8_t { kForbid, kWarn, kAllow };

// Whether compile() measures what operators take on the devices of its list. What was measured
// before is used in any case.
enum class Calibrate : uint8_t {
    kNever,
    // What is not known yet, and keeps it for later processes (RuntimeOptions::calibration_folder):
    // each operator of the graph, with the shapes that are fixed, on each device, some dozen runs
    // on elements of leat's own; and copies to the devices and back.
    kMissing,
};

// Which of the devices in the list run a node that several of them take.
enum class PlacementPolicy : uint8_t {
    kListOrder,  // the first
    // Those with which the graph is estimated to end soonest, moves between memories and the start
    // of each part on a device included; see GraphPlacement::forecast. With several
    // CompileOptions::requests_in_flight, those with which such ends follow each other soonest.
    kCost,
};

// By cost: whether operators may be divided over devices, each of which computes a range of one
// axis, where the forecast is then shorter. Which operators were is told by
// PlacementForecast::divided. Ranges need fixed extents; pinned nodes, custom operators and graphs
// with pipeline stages stay whole.
enum class DivideOperators : uint8_t {
    kNever,
    // Ranges of the rows, columns, channels or batch; of integers those of a reduced axis, too.
    // Shards give the bits that the whole operator gives on their device, if its kernels do not
    // depend on these extents: those of cpu and reference do not.
    kKeepingBits,
    // Also of the reduced axis of products and convolutions in f32 and f64, where devices give
    // summands of the whole result. They are added in the order of the ranges, so that the same
    // division gives the same bits in every run; but not those of the whole operator.
    kChangingBits,
};

// What a symbolic extent may be, both included.
struct DimBounds {
    int64_t min = 1;
    int64_t max = 1;
};

struct CompileOptions {
    // Devices by name, in order of preference: "cpu", "reference", and those of backends in shared
    // objects: "sim" (the first one), "vulkan:1", "vulkan:name~NVIDIA".
    std::string devices = "cpu";
    // What nodes may do that the first device refuses. kForbid: compile() fails and lists them.
    // kWarn: they run on the others of the list, and at last on the CPU; each is named to the
    // logger. kAllow: the same without a word. CompileReport::fallbacks lists them. Nodes of
    // strings run on a built-in backend of the list, else on the CPU, whatever this says: no
    // device's memory holds strings.
    Fallback fallback = Fallback::kWarn;
    PlacementPolicy placement_policy = PlacementPolicy::kListOrder;
    DivideOperators divide_operators = DivideOperators::kKeepingBits;
    // Nodes that must run on one device of the list: name of a node of the graph (one that several
    // have means all of them) -> device, as `devices` writes it. An error names a node or device
    // that is not there, and a device that refuses a node pinned to it, with its reason; `fallback`
    // does not count. Nodes that become one run where one of them is pinned, and nodes pinned to
    // different devices stay apart. What is computed before the run (constants, what follows from
    // shapes), gives its input back, or is needed by no result, runs nowhere, pinned or not. Pins
    // hold in all segments of a graph (CompileReport::segments); a node without a plan can only be
    // pinned to "cpu" or "reference". Nodes of bodies are none of the graph's: they go to the first
    // device of the list that takes them.
    std::map<std::string, std::string, std::less<>> pins = {};
    // Which annotations of the model for several devices (ONNX IR version 11) are constraints of
    // the placement, beside `pins`: those of the configuration of that name, whose devices are
    // those of the list that are called the same, or else the first ones of the list; "": none. By
    // default those of the first configuration whose devices are all named in the list, or, where
    // they have no names, are as many. Operators that they shard along one axis are divided so,
    // whatever divide_operators says of what costs may do; only bits change no sooner than it
    // allows. CompileReport::annotation_notes says what is not obeyed.
    std::optional<std::string> device_configuration = {};
    Calibrate calibrate = Calibrate::kNever;
    // Makes one plan at compile time. That of a default input (Graph::default_inputs) counts in the
    // plan that a request makes which binds it.
    InputShapes shapes = {};
    // The same by the name of a symbolic extent of the inputs, those with defaults included. It
    // says nothing about the defaults themselves, nor do bounds.
    std::map<std::string, int64_t, std::less<>> dims = {};
    // Bounds by the name of a symbolic extent: shapes beyond them are errors. What `dims` leaves
    // open counts as its upper bound until a run says more: the first plan is made for that, every
    // request has room for it, so that runs within the bounds allocate no memory for activations on
    // the host, and costs place for it.
    std::map<std::string, DimBounds, std::less<>> dim_bounds = {};
    // 0: none. Covers the weights, the packed weights and the memory of max_requests requests: it
    // is met, or there is no plan. Steps then wait for more others than their data demands, if need
    // be. Results whose length only a run knows, stacks of a Loop that its condition ends, are not
    // covered.
    int64_t memory_limit_bytes = 0;
    // Of each request, for values whose size only a run knows, and what is handed from one segment
    // of the graph to the next (CompileReport::segments). A run that needs more is an error that
    // names the value. 0: none.
    int64_t pool_limit_bytes = 0;
    // At a time; with a limit, make_request refuses one more. Where placement is by cost, what the
    // memory of a device holds, and what the limit leaves of the host's, has to do for the values
    // of as many requests as this and requests_in_flight say, whichever is more.
    int max_requests = 1;
    // Runs that the program keeps going at a time, a new one beginning when the oldest ends, as
    // RequestQueue does. Above 1, PlacementPolicy::kCost takes the placement with which results
    // come most often, as in a pipeline, instead of that with which one comes soonest: see
    // PlacementForecast::period_ns. Their values count for the memories, as with max_requests; with
    // a memory limit that has to be as many.
    // [1, kMostInFlight]
    int requests_in_flight = 1;
    static constexpr int kMostInFlight = 64;
    // Of the plans that are kept, by an estimate; those that were used once go first.
    int64_t plan_cache_bytes = 64 << 20;
    // Steps run one after the other, parts on devices too, and every value has memory of its own:
    // the run that others are compared with.
    bool runs_serially = false;
    bool optimize = true;    // false: only the passes that correctness needs
    bool is_traced = false;  // runs record what ran where and when: see Request::trace_json
};

// One pass of compile().
struct PassReport {
    std::string name;
    bool changed = false;
    int64_t time_ns = 0;
    std::string detail;
};

// Where a value lies in the memory of a plan; others may share its bytes, views and results that
// are written over it.
struct BufferReport {
    std::string value;
    int64_t size_bytes = 0;
    int64_t offset_bytes = 0;
    int begin_step = 0;  // needed in [begin_step, end_step), counted in the order of the plan
    int end_step = 0;
};

// A plan with more or fewer waits: fewer bytes against steps that overlap.
struct MemoryTradeOff {
    // Steps begin when all that stand so many places before them have ended; 1: one after the
    // other, 0: only data orders them.
    int run_ahead = 0;
    int64_t arena_bytes = 0;
    int64_t lower_bound_bytes = 0;
    int64_t added_waits = 0;  // between steps that data does not order
    double estimated_ns = 0;  // of a run on the runtime's threads
};

// What a request has in memory of a device besides packed weights, in one plan.
struct DeviceMemoryReport {
    std::string device;  // as CompileOptions::devices names it
    std::string memory;  // the domain, as its backend calls it
    int64_t bytes = 0;   // of values that parts read and write, and of their transients
    int64_t lower_bound_bytes = 0;
    int64_t unplanned_bytes = 0;  // the sum of all buffers, without any reuse
    int64_t constant_bytes = 0;   // that stay there, beside `bytes`; shared by all requests
    int64_t streamed_bytes = 0;   // constants that each run copies there
    int64_t window_bytes = 0;     // of `bytes`: the places that these have one after the other
};

// A body of If, Loop or Scan that has a plan of its own, within that of the graph around.
struct BodyReport {
    std::string body;  // "node 'l' (Loop), body"; behind what it is within, if that is a body too
    int step_count = 0;
    int device_steps = 0;     // of these: on devices, with the transfers that they need
    int64_t arena_bytes = 0;  // of one iteration; part of that of the plan
    int64_t lower_bound_bytes = 0;
    // Workers share the steps of an iteration; else one of them runs all in turn.
    bool is_shared = false;
    bool is_new = false;  // planned with this plan, not taken over from an earlier one
};

struct PlanReport {
    InputShapes shapes;
    int numa_node = -1;  // whose requests it is for; -1: any
    // Of values that threads of several nodes use, on the node of one.
    int64_t shared_bytes = 0;
    int64_t arena_bytes = 0;        // planned activations and scratch
    int64_t lower_bound_bytes = 0;  // no plan is below, where as many steps overlap as may
    // The most bytes alive at once where steps run one after the other, in the order of the plan.
    int64_t serial_bound_bytes = 0;
    int run_ahead = 0;        // as MemoryTradeOff::run_ahead; -1: there is one worker
    int64_t added_waits = 0;  // between steps that data does not order, for the memory they share
    // False: the plan has more than 8,192 steps, so that it relies on fewer orders between them
    // than hold. It may have more bytes and more waits for that; its bound is above that of all
    // orders, and added_waits counts some that data orders too.
    bool has_whole_order = true;
    int64_t unplanned_bytes = 0;  // the sum of all buffers, without any reuse
    int step_count = 0;
    int64_t tile_count = 0;
    int transfer_count = 0;  // steps that copy values between the host and devices
    int64_t transfer_bytes = 0;
    std::vector<DeviceMemoryReport> device_memory;
    // In the order of the plan's steps. Those that are not here run by kernels of their nodes, one
    // operator at a time, because only a run knows their sizes.
    std::vector<BodyReport> bodies;
    int64_t plan_time_ns = 0;
    // Parts of plan_time_ns.
    int64_t inference_time_ns = 0;  // shapes
    int64_t kernel_time_ns = 0;     // preparing the steps
    // Of kernel_time_ns: in calls of devices' backends, which say what parts need for the shapes.
    int64_t backend_time_ns = 0;
    int64_t memory_time_ns = 0;         // order, places and waits
    std::vector<BufferReport> buffers;  // in CompileReport::plans only
};

// A part of a graph that is planned when the results of those before it are there, or a node that
// has no plan: one that works on sequences, or whose bodies have shapes that only a run knows.
struct SegmentReport {
    int node_count = 0;  // after the passes
    std::string reason;  // why it has to be one by itself; empty: it is the first one
    // Shapes of the graph's inputs alone make its plan, so that prepare() does. Others are planned
    // in runs, when what their plans need is there.
    bool is_prepared = false;
};

// What plans of a compiled graph have cost since compile() began: those of all its segments, for
// all its requests.
struct PlanningReport {
    int64_t made = 0;
    int64_t dropped = 0;  // of them, to keep to CompileOptions::plan_cache_bytes
    int64_t time_ns = 0;  // in sum
};

struct CompileReport {
    std::vector<PassReport> passes;
    int64_t compile_time_ns = 0;
    // Of compile_time_ns: devices' backends compile their parts, and pack constants for them.
    int64_t part_compile_time_ns = 0;
    int64_t weight_bytes = 0;         // constants as the model holds them
    int64_t packed_weight_bytes = 0;  // constants as the kernels read them, in leat's memory
    int64_t mapped_weight_bytes = 0;  // the same in the file that Runtime::load has read
    // Constants that backends of devices packed for this graph; others were in the file, or packed
    // already.
    int64_t device_pack_count = 0;
    int64_t load_time_ns = 0;  // of Runtime::load; 0: it was compiled by this Runtime
    int node_count = 0;        // operators after the passes
    std::map<std::string, int> nodes_per_backend;
    std::vector<std::string> fallbacks;         // nodes that the first device refuses, and why
    std::string device_configuration;           // of the model, that was obeyed; empty: none
    std::vector<std::string> annotation_notes;  // annotations that were not, and why
    // CPU operators that run the plain reference kernel because no fast kernel covers them.
    std::vector<std::string> reference_kernels;
    std::vector<std::string> shape_deciding_inputs;  // inputs whose values decide shapes
    // In the order in which they run. Empty: one plan has the whole graph.
    std::vector<SegmentReport> segments;
    // In the cache, the most recently used first; behind them those with default inputs open.
    std::vector<PlanReport> plans;
    PlanningReport planning;
    CalibrationReport calibration;  // empty unless CompileOptions::calibrate asks for it
    GraphPlacement placement;       // with the shapes of the plan that was used last
    std::string summary() const { return summary_; }  // one line: "cpu 122/122 nodes, ..."
    std::string summary_;
};

// How CompiledGraph::save writes.
struct SaveOptions {
    // False: packed constants are left out, and made again at load: a smaller file.
    bool saves_packed_weights = true;
    // True: constants of 4 KiB and more that the passes left as they are in the model's file, or in
    // its external data, are not copied: load() maps that file, under its path beside or below the
    // saved one, else under its absolute path. It refuses one that is gone, of another size, or, if
    // its time of modification is another one, of other elements (kNotFound, kVersionMismatch).
    // Constants that were computed or joined are copied all the same.
    bool refers_to_model = false;
};

struct LoadOptions {
    // True: reads all constants and compares them with the hashes that the file has of them, where
    // else only what is not a constant is compared, and constants in files of the model that were
    // touched.
    bool verifies_weights = false;
    // False: the file, and those of the model that it refers to, are mapped while anything of the
    // graph lives. They must be replaced by renaming, as save() does. A file that is overwritten in
    // place gives other numbers; where one became shorter, reading it ends the process with SIGBUS.
    // make_request(), plans for new shapes and save() look at the sizes first and return errors
    // (kParse); a file that shrinks later is not noticed.
    // True: all of them are read into memory now, and may change afterwards. One that changes while
    // it is read is an error (kParse). The process then needs as much memory as they have bytes,
    // beside what it packs.
    bool copies = false;
};

struct RequestOptions {
    // Where its memory is and the thread that calls run() stays for the run: the system's number.
    // -1: the node of the CPU that make_request() is called on.
    int numa_node = -1;
};

struct RunOptions {
    // From the call of run(): kTimeout where it has passed, also while another call makes the plan.
    // 0 and less have passed; nanoseconds::max() never does.
    std::optional<std::chrono::nanoseconds> deadline = {};
    std::stop_token stop = {};
};

// Time of one step of a profiled run.
struct StepTime {
    std::string node;
    std::string op_type;
    std::string kernel;
    int64_t time_ns = 0;
    double estimated_ns = 0;  // that the plan was made with
    double flops = 0;
    int64_t bytes = 0;
    std::string shapes;
    // Of a step in a body: which one, as BodyReport::body; its time is part of that of the node
    // around. Empty: it is a step of the graph.
    std::string within;
    int64_t runs = 1;  // of the step; in a body, as often as that ran
};

// How well a plan fits what its runs measured.
struct RunReport {
    int64_t runs = 0;      // on several threads, that completed
    double wall_ns = 0;    // mean, recent runs counting most
    double imbalance = 0;  // share of the threads' time spent waiting for each other, recent runs
    bool advises_recompile = false;  // imbalance stays above 10 %: see CompiledGraph::recompile
    // With RequestSpan::kAllNodes: segments of work that threads of another node than planned have
    // taken over, in all runs, because the node had no thread in the run for 0.2 ms.
    int64_t adopted_across_nodes = 0;
    // Of a run: copies between the host and devices.
    int64_t transfers = 0;
    int64_t transfer_bytes = 0;
    // Of a graph in segments, which has no other number here: memory of the request for values
    // between segments, and the most that values had of it at a time.
    int64_t pool_bytes = 0;
    int64_t pool_peak_bytes = 0;
};

// Where the pages of some of leat's memory really are.
struct PagePlacement {
    std::string memory;            // "activations", "scratch" or "weights"
    std::vector<int> numa_nodes;   // where they are wanted; empty: anywhere
    std::string policy_asked;      // "bind", "interleave", ...; "none": nothing is to be chosen
    std::string policy_effective;  // what the system was told, or is done instead
    int64_t wanted_pages = 0;
    int64_t there_pages = 0;      // resident on one of the wanted nodes
    int64_t elsewhere_pages = 0;  // resident on another one
    int64_t absent_pages = 0;     // not resident: trimmed, or spare room that no plan needs yet
    int64_t huge_pages = 0;       // resident in huge pages, counted as small ones
    std::string source;           // who told: "move_pages", "numa_maps" or "none"
    bool is_confirmed = true;     // false: move_pages and numa_maps disagree
};

struct PlacementReport {
    std::vector<PagePlacement> memory;
    int64_t page_bytes = 0;
    bool is_balanced_by_system = false;  // numa_balancing: pages that are not bound may move
    std::string huge_pages;              // "always", "madvise" or "never"; empty: unknown
};

// A part of a divided batch: `rows` indices of axis 0.
struct ShardReport {
    int numa_node = -1;
    int64_t first_row = 0;
    int64_t rows = 0;
};

// How the last run or prepare of a request was divided: see RequestSpan::kBatchShards.
struct DivisionReport {
    std::vector<ShardReport> shards;  // empty: not at all
    std::string undivided_because;    // empty: it is divided, or nobody asked for that
};

class RequestQueue;

// Used by one thread at a time, and by nobody while it is in flight in a queue; results and reports
// may be read by several threads. A call beside one that excludes it changes nothing: it is kBusy,
// or, where it returns no Status, tells nothing.
class LEAT_API Request {
  public:
    ~Request();
    Request(Request&&) noexcept;
    Request& operator=(Request&&) noexcept;

    // Binds caller memory to an input, without a copy: it must stay valid and unchanged until the
    // run ends. It may be filled anew before the next run, which reads it again. Memory that is not
    // aligned to its elements is copied when a run begins. The shape may differ from call to call;
    // a mismatch with the graph's declaration is an error that names both. Non-tensor inputs
    // (sequences, optionals) take a Value.
    // A default input (CompiledGraph::default_inputs) that is bound for the first time compiles the
    // graph again, with this input open; the result is kept for other requests. It can be bound
    // again, but not be given up.
    Status bind(std::string_view input, const Value& value);
    template <class T>
    Status bind(std::string_view input, const Shape& shape, std::span<const T> values) {
        return bind_memory(input, kDTypeOf<T>, shape, values.data(), int64_t(values.size()));
    }
    // The same for an input whose shape is fixed, by the graph or by CompileOptions.
    template <class T>
    Status bind(std::string_view input, std::span<const T> values) {
        return bind_memory(input, kDTypeOf<T>, std::nullopt, values.data(), int64_t(values.size()));
    }
    // Lets an output be written straight to caller memory; an undefined tensor ends that. The shape
    // must be the one that the run gives. Where only the run knows it, the output is copied there
    // after the run, which is invalid_argument if it gave another shape: output() needs no such
    // memory. So are strings, to where objects of std::string are (Tensor::allocate). A run is
    // invalid_argument where the memory shares a byte with another output, with an input, or with
    // the request's own memory, in which other results are: nor may these be bound as inputs. After
    // a run that failed it holds anything.
    Status bind_output(std::string_view output, Tensor tensor);

    // Plans for these shapes (and the bound values of shape-deciding inputs) now, so that the next
    // run() allocates nothing. An input that has no shape here, nor by the graph or CompileOptions,
    // counts with what is bound to it. A default input that has one is opened, as by bind(), and
    // keeps its default until it is bound.
    Status prepare(const InputShapes& shapes);

    // Runs on the calling thread and the Runtime's helpers. Allocates nothing when the shapes, and
    // the values of shape-deciding inputs, are those of a plan that this request holds, and no
    // result whose length only the run knows is longer than before. After an error there are no
    // results, neither of this run nor of an earlier one.
    Status run(const RunOptions& options = {});
    // Runs step by step on the calling thread, timing each. In the order of the graph's nodes;
    // shards of a divided batch are added up.
    Result<std::vector<StepTime>> profile();

    // Result of the last run; a view that is valid until the next run, prepare or destruction.
    // kNotFound: there is none, as nothing ran, or the last run failed.
    Result<Value> output(std::string_view name) const;
    // The elements of a tensor output; empty if the name or type does not match, or there is none.
    template <class T>
    std::span<const T> get(std::string_view name) const {
        const Elements found = find_elements(name, kDTypeOf<T>);
        return {static_cast<const T*>(found.data), found.count};
    }
    // Threads that ran at least one tile in the last run, the calling thread among them.
    int threads_used() const;
    // The plan of the last run or prepare; of a divided batch that of the first shard.
    const PlanReport& plan_report() const;
    // Of the runs with that plan.
    RunReport run_report() const;
    DivisionReport division() const;
    // Where this request's memory and the Runtime's weights are now. Asks the kernel about every
    // page: not for the hot path.
    PlacementReport placement_report() const;
    // Gives the request's memory back to the system until the next run. Outputs of the last run are
    // gone. Nothing happens while the request is in flight, or another thread uses it.
    void trim();
    // What the last run of a traced graph did, node by node and tile by tile, as JSON that Perfetto
    // opens, with the pages of placement_report(); without events if the graph was compiled without
    // CompileOptions::is_traced. A divided batch has a trace for each shard. A graph in segments
    // has rows for each of them, and for nodes without a plan; of bodies that run between segments
    // they show the last iteration.
    std::string trace_json(int shard = 0) const;

    struct Impl;
    explicit Request(std::unique_ptr<Impl> impl);

  private:
    Status bind_memory(std::string_view input,
                       DType dtype,
                       std::optional<Shape> shape,
                       const void* data,
                       int64_t count);
    struct Elements {
        const void* data = nullptr;
        size_t count = 0;
    };
    Elements find_elements(std::string_view name, DType dtype) const;
    friend class RequestQueue;
    std::unique_ptr<Impl> impl_;
};

class LEAT_API CompiledGraph {
  public:
    ~CompiledGraph();
    CompiledGraph(CompiledGraph&&) noexcept;
    CompiledGraph& operator=(CompiledGraph&&) noexcept;

    std::vector<ValueInfo> inputs() const;
    // With default inputs as the constants that they are; binding one may give another shape.
    std::vector<ValueInfo> outputs() const;
    // Inputs that have a value already and need none: see Request::bind.
    std::vector<ValueInfo> default_inputs() const;
    // Makes and caches the plan for these input shapes. Default inputs among them are open in it:
    // it is the plan of requests that bind just these. See Request::bind about what that costs.
    Status prepare(const InputShapes& shapes) const;
    // All memory for the largest plan cached now is allocated here.
    Result<Request> make_request(const RequestOptions& options = {}) const;
    // The same graph planned again, order, division of work and memory included, with the times
    // that Request::profile measured in place of estimates; for other shapes in proportion. Times
    // of nodes that the graph does not have are an error. Shares the packed weights with this one.
    // The times may be of a request that has default inputs open.
    Result<CompiledGraph> recompile(std::span<const StepTime> times) const;
    CompileReport report() const;
    // What other plans for these input shapes would need, from the most parallel one to the one
    // that runs steps one after the other. Nothing is kept.
    Result<std::vector<MemoryTradeOff>> memory_dial(const InputShapes& shapes = {}) const;
    // `graph`, which this was compiled from, with the placement as annotations for several devices
    // (ONNX IR version 11) in place of those of the same configuration: save_onnx writes them, and
    // a compile() with the same devices obeys them. Errors: another graph.
    Result<Graph> annotate(const Graph& graph, std::string_view configuration = "leat") const;
    // The graph after the passes, in text form.
    std::string to_text() const;
    // Writes what Runtime::load makes the same compiled graph of: placement, plans of the shapes in
    // the cache, executables, constants and what was packed of them. Replaces the file as a whole,
    // and treats links, devices and concurrent savers as save_onnx does.
    Status save(const std::string& file, const SaveOptions& options = {}) const;

    struct Impl;
    explicit CompiledGraph(std::shared_ptr<Impl> impl);

  private:
    std::shared_ptr<Impl> impl_;
};

// After fork(), a child of a process in which nothing of leat runs may use and destroy what it
// inherited: requests, compiled graphs, the Runtime. Helpers that are oneTBB's threads are not
// there: runs use the calling thread only, and host() says so. A Runtime that the child makes has
// threads. Devices of plugins are the parent's: their runs and all that needs them are kDeviceLost.
// Where another thread was inside leat, POSIX lets the child call nothing but exec and _exit.
class LEAT_API Runtime {
  public:
    // Never fails: what is missing (hwloc, cgroup files, threads) is said in host().
    explicit Runtime(RuntimeOptions options = {});
    ~Runtime();
    Runtime(Runtime&&) noexcept;
    Runtime& operator=(Runtime&&) noexcept;

    Result<CompiledGraph> compile(const Graph& graph, const CompileOptions& options = {}) const;
    // A compiled graph that was saved: nothing is searched for, and constants stay in the file,
    // which is mapped unless LoadOptions::copies says otherwise. Custom operators must be
    // registered. kVersionMismatch: it is of another version of leat, machine, number of threads,
    // device or driver; kParse: it is no such file, or damaged.
    Result<CompiledGraph> load(const std::string& file, const LoadOptions& options = {}) const;
    // Custom operators of this Runtime, for graphs compiled from now on: OperatorLibrary::add and
    // load say what can fail. Graphs compiled before keep what they have.
    Status register_operator(CustomOperator custom) const;
    Status load_operators(const std::string& file) const;
    // The library that they are in, for load_onnx.
    OperatorLibrary operators() const;
    const HostInfo& host() const;
    // Names of the backends, and why one is not available (empty: it is). Opens the shared objects
    // that are found.
    std::vector<std::pair<std::string, std::string>> backends() const;
    // Shuts a backend down and closes its shared object. kBusy, with the counts, while a compiled
    // graph or request of it lives; then nothing has changed. It is loaded again where it is named.
    Status unload_backend(std::string_view backend) const;

    struct Impl;

  private:
    friend struct RuntimeInternals;  // of tests and benchmarks, which observe runs
    std::shared_ptr<Impl> impl_;
};

// "0.1.0"
LEAT_API std::string_view version();

}  // namespace leat
