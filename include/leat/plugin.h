// The C ABI between leat and its backends. A backend is a shared object that exports one symbol,
// leat_backend_query. docs/backends.md is the contract; include leat/plugin_backend.h to write one
// in C++.
//
// Versions: every struct begins with a LeatHeader and only ever grows at its end. A reader uses
// the fields that lie inside struct_bytes and takes the others as zero. Exempt are value structs
// (LeatPoint, LeatDim, LeatEdge, LeatBinding, LeatPlacement, LeatStatePair, LeatStepTime): they
// travel in arrays and never change.
// Errors: functions return a LeatCode, kLeatOk or why not, and write a text to the LeatError that
// they are given, which may be null. Nothing throws, and nothing aborts.
// Threads: unless a function says otherwise it may be called from any thread at any time, also
// concurrently with itself; calls about one object never run while that object is destroyed.
// Units: bytes, nanoseconds (_ns), elements. Texts are UTF-8 and end in a zero. Pointers are never
// null unless the comment says so. Flags of type int32_t are 0 or 1.
#ifndef LEAT_PLUGIN_H
#define LEAT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version that this header describes. A larger one only appends.
#define LEAT_PLUGIN_VERSION 1u
// What a plugin's entry point is called.
#define LEAT_PLUGIN_QUERY "leat_backend_query"

// Errors. Numbers never change; an unknown one is read as kLeatInternal.
typedef int32_t LeatCode;
enum {
    kLeatOk = 0,
    kLeatPending = 1,  // of a point only: not reached yet
    kLeatInvalidArgument = 2,
    kLeatNotFound = 3,
    kLeatUnimplemented = 4,  // the backend does not have this feature at all
    kLeatUnsupported = 5,    // it has the feature, but not for these arguments
    kLeatOutOfMemory = 6,
    kLeatDeviceLost = 7,
    kLeatCancelled = 8,
    kLeatBusy = 9,
    kLeatVersionMismatch = 10,
    kLeatCorrupt = 11,  // saved bytes are not what save() wrote, or belong to another device
    kLeatException = 12,
    kLeatInternal = 13
};

// A struct outside the ABI's own, found by its name in a chain of `next`. Readers skip the names
// that they do not know.
typedef struct LeatChained LeatChained;

// How every struct begins. struct_bytes is sizeof in the writer's header, version is the writer's
// LEAT_PLUGIN_VERSION.
typedef struct LeatHeader {
    uint32_t struct_bytes;
    uint32_t version;
    const LeatChained* next;  // may be null
} LeatHeader;

struct LeatChained {
    LeatHeader header;
    const char* name;
};

// Where a callee writes why it failed: at most capacity bytes with the final zero. The caller owns
// it; the callee does not keep it.
typedef struct LeatError {
    LeatHeader header;
    char* text;  // may be null if capacity is 0
    int64_t capacity;
} LeatError;

// Takes bytes in order. Called only during the call that it is passed to.
typedef struct LeatSink {
    LeatHeader header;
    void* user;
    LeatCode (*write)(void* user, const void* data, int64_t bytes);
} LeatSink;

// Named settings, as texts. An unknown name is kLeatInvalidArgument.
typedef struct LeatSettings {
    LeatHeader header;
    int32_t count;
    const char* const* names;
    const char* const* values;
} LeatSettings;

typedef struct LeatSettingInfo {
    LeatHeader header;
    const char* name;
    const char* default_value;
    const char* description;  // one line
} LeatSettingInfo;

// ---- What the host gives a plugin. Valid until shutdown() has returned. ----

enum { kLeatLogDebug = 0, kLeatLogInfo = 1, kLeatLogWarning = 2, kLeatLogError = 3 };

typedef struct LeatHostApi {
    LeatHeader header;
    void* host;  // passed back as the first argument
    // Calls body(user, i) once for each i of [0, count) on the host's threads and returns when all
    // have returned. Never from a callback or a thread of the plugin. body must not throw.
    void (*parallel_for)(void* host,
                         int64_t count,
                         void (*body)(void* user, int64_t index),
                         void* user);
    void (*log)(void* host, int32_t level, const char* text);
    int64_t (*monotonic_ns)(void* host);
    // A folder that exists and is the plugin's own, or null if nothing may be cached.
    const char* (*cache_directory)(void* host);
    // alignment: a power of two. Null where memory has run out.
    void* (*allocate)(void* host, int64_t bytes, int64_t alignment);
    void (*deallocate)(void* host, void* memory, int64_t bytes, int64_t alignment);
} LeatHostApi;

// ---- Devices. Infos belong to the plugin and are valid until shutdown. ----

typedef struct LeatBackend LeatBackend;        // a running backend: what create() gave
typedef struct LeatSlab LeatSlab;              // one allocation of a memory domain
typedef struct LeatExecutable LeatExecutable;  // a compiled subgraph; shared by threads
typedef struct LeatInstance LeatInstance;      // an executable with addresses; one run at a time

// Domains and queues are numbered through the whole backend, from 0. This one is the host's memory.
#define LEAT_HOST_DOMAIN (-1)

typedef struct LeatDomainInfo {
    LeatHeader header;
    int32_t domain;
    const char* name;
    int64_t capacity_bytes;
    int64_t alignment_bytes;         // of every slab's address and offset that is bound; 2^k
    int64_t import_alignment_bytes;  // of host memory that may be imported; 0: none may
    int32_t is_mappable;             // map_slab works
    int32_t is_coherent;             // flush_slab is not needed
} LeatDomainInfo;

enum { kLeatQueueCompute = 1, kLeatQueueCopy = 2 };  // bits

typedef struct LeatQueueInfo {
    LeatHeader header;
    int32_t queue;
    int32_t kinds;  // copy() and fill() work on every queue, execute() on compute queues
    const char* name;
} LeatQueueInfo;

// A copy between two domains, one of which may be the host's. Pairs without a link go by the host.
typedef struct LeatLinkInfo {
    LeatHeader header;
    int32_t from_domain;
    int32_t to_domain;
    double latency_ns;
    double bytes_per_s;
    int32_t is_mappable;  // devices of to_domain reach memory of from_domain without a copy
    // Links of one backend with the same channel carry one copy at a time between them; 0: nothing
    // is said.
    int32_t channel;
} LeatLinkInfo;

enum {
    kLeatDeviceOther = 0,
    kLeatDeviceCpu = 1,
    kLeatDeviceIntegrated = 2,
    kLeatDeviceDiscrete = 3
};

typedef struct LeatDeviceInfo {
    LeatHeader header;
    const char* name;
    int32_t kind;
    int32_t numa_node;  // -1: unknown
    int32_t domain_count;
    const LeatDomainInfo* const* domains;  // the fastest first
    int32_t queue_count;
    const LeatQueueInfo* const* queues;
    int32_t link_count;
    const LeatLinkInfo* const* links;
    int32_t thread_count;  // threads that the plugin runs for the device
} LeatDeviceInfo;

// ---- Graphs. Views belong to the host and are valid during the call that gets them. ----

// An extent: `extent` if >= 0, else the symbol of that index, else (both -1) unknown.
typedef struct LeatDim {
    int64_t extent;
    int32_t symbol;
} LeatDim;

// A symbolic extent and what it may be.
typedef struct LeatSymbolView {
    LeatHeader header;
    const char* name;
    int64_t min_extent;
    int64_t max_extent;  // -1: no bound is known
} LeatSymbolView;

// Row-major elements in host memory, aligned to 64 bytes.
typedef struct LeatTensorView {
    LeatHeader header;
    int32_t dtype;  // numbers of ONNX: TensorProto.DataType
    int32_t rank;
    const int64_t* extents;
    void* data;
    int64_t bytes;
} LeatTensorView;

// Borrowed until compile() returns: packing gets it again. Equal hashes mean equal bytes.
typedef struct LeatConstantView {
    LeatHeader header;
    const LeatTensorView* tensor;
    uint64_t content_hash;
} LeatConstantView;

enum { kLeatLayoutRowMajor = 1, kLeatLayoutChannelsLast = 2 };  // bits

typedef struct LeatValueView {
    LeatHeader header;
    const char* name;
    int32_t dtype;
    int32_t rank;          // -1: unknown; then dims is null
    const LeatDim* dims;   // of a data-dependent size: its extents are unknown, max_elements is not
    int64_t max_elements;  // upper bound; -1: no bound is known
    const LeatConstantView* constant;  // null: not a constant
    int32_t outer_value;  // in a sub-graph: the value of the enclosing graph that this is; else -1
} LeatValueView;

enum {
    kLeatAttributeInts = 1,
    kLeatAttributeFloats = 2,
    kLeatAttributeStrings = 3,
    kLeatAttributeTensor = 4
};

typedef struct LeatAttributeView {
    LeatHeader header;
    const char* name;
    int32_t kind;
    int32_t is_list;  // 0: a single int, float or string
    int64_t count;
    const int64_t* ints;  // null unless of that kind; the same below
    const float* floats;
    const char* const* strings;
    const LeatTensorView* tensor;
} LeatAttributeView;

typedef struct LeatGraphView LeatGraphView;

// The body of an If, Loop or Scan under the name of its attribute.
typedef struct LeatSubgraphView {
    LeatHeader header;
    const char* name;
    const LeatGraphView* graph;
} LeatSubgraphView;

typedef struct LeatNodeView {
    LeatHeader header;
    const char* name;
    const char* domain;  // "" is ai.onnx
    const char* op_type;
    int32_t input_count;
    const int32_t* inputs;  // values; -1: absent
    int32_t output_count;
    const int32_t* outputs;  // values; -1: an optional one that the node does not have
    int32_t attribute_count;
    const LeatAttributeView* const* attributes;
    int32_t subgraph_count;
    const LeatSubgraphView* const* subgraphs;
} LeatNodeView;

// State kept between runs: both values are bound to one range, read and then written in place.
typedef struct LeatStatePair {
    int32_t input;   // index among the graph's inputs
    int32_t output;  // index among its outputs
} LeatStatePair;

struct LeatGraphView {
    LeatHeader header;
    const char* name;
    int32_t symbol_count;
    const LeatSymbolView* const* symbols;
    int32_t value_count;
    const LeatValueView* const* values;
    int32_t node_count;
    const LeatNodeView* const* nodes;  // in topological order
    int32_t input_count;
    const int32_t* inputs;  // values
    int32_t output_count;
    const int32_t* outputs;
    int32_t state_count;
    const LeatStatePair* states;
};

// Filled by capabilities() for one node; the host sets the header only. A node with sub-graphs is
// taken or refused as a whole.
typedef struct LeatNodeCapability {
    LeatHeader header;
    int32_t is_supported;
    char reason[256];  // why not; empty if supported
    double cost_ns;    // estimate of one run at the largest known shape
    int64_t workspace_bytes;
    int32_t layouts;           // bits of layouts that operands may have
    uint32_t in_place_inputs;  // bit i: output 0 may lie over input i
    uint32_t host_inputs;      // bit i: input i is read on the host before the run
} LeatNodeCapability;

// The layout of each input and output of the graph that compile() gets.
typedef struct LeatLayouts {
    LeatHeader header;
    const int32_t* inputs;
    const int32_t* outputs;
} LeatLayouts;

typedef struct LeatCompileOptions {
    LeatHeader header;
    const LeatLayouts* layouts;  // null: row-major
    const void* blob;  // what preprocess, or a program's function in its place, wrote; may be null
    int64_t blob_bytes;
    const LeatSettings* settings;  // null: none
} LeatCompileOptions;

// ---- Executables ----

// A constant that the executable reads packed. The host keeps one copy for each (content_hash,
// layout_key, domain).
typedef struct LeatPackedConstant {
    LeatHeader header;
    int32_t value;  // of the graph that was compiled
    int32_t domain;
    uint64_t content_hash;
    uint64_t layout_key;
    int64_t bytes;
    int64_t alignment_bytes;
} LeatPackedConstant;

// Belongs to the executable. An execution binds graph inputs and outputs in the graph's order.
typedef struct LeatExecutableInfo {
    LeatHeader header;
    int32_t domain;  // where bindings and transients lie
    int32_t constant_count;
    const LeatPackedConstant* const* constants;
    int32_t input_count;
    int32_t output_count;
    int32_t symbol_count;
    uint64_t host_inputs_low;  // bit i: graph input i (of the first 64) is a host input
} LeatExecutableInfo;

// What one set of shapes fixes. The callee keeps nothing of it.
typedef struct LeatRunShape {
    LeatHeader header;
    int32_t symbol_count;
    const int64_t* symbols;  // extent of each symbol
    int32_t input_count;
    const LeatTensorView* const* host_inputs;  // by graph input; null where it is no host input
} LeatRunShape;

typedef struct LeatEdge {
    int32_t from_step;
    int32_t to_step;  // starts when from_step has ended
} LeatEdge;

typedef struct LeatTransient {
    LeatHeader header;
    int64_t bytes;
    int64_t alignment_bytes;
    int32_t domain;
    int32_t step_count;
    const int32_t* steps;  // that use it; two transients conflict unless edges order all of them
} LeatTransient;

// Belongs to the plugin until free_requirements().
typedef struct LeatRequirements {
    LeatHeader header;
    int32_t step_count;
    int32_t edge_count;
    const LeatEdge* edges;
    int32_t transient_count;
    const LeatTransient* const* transients;
    int32_t output_count;
    const int64_t* output_bytes;  // exact, or the upper bound where the size depends on data
    const int32_t* output_is_bounded;
} LeatRequirements;

// Some steps of an executable.
typedef struct LeatStepList {
    int32_t step_count;
    const int32_t* steps;
} LeatStepList;

// In the chain of a LeatRequirements: the steps that touch the memory of each operand. An empty
// list: it is in use as long as the run, and so are all operands without this struct. Else an input
// is in use from the begin of the run to the last of its steps, an output from the first of them to
// the end, and what the edges order behind or before that may lie in the same memory.
#define LEAT_OPERAND_STEPS "leat.operand_steps"
typedef struct LeatOperandSteps {
    LeatChained chained;  // its name is LEAT_OPERAND_STEPS
    int32_t input_count;
    int32_t output_count;
    const LeatStepList* inputs;
    const LeatStepList* outputs;
} LeatOperandSteps;

// In the chain of a LeatRequirements: what people call the steps, for traces.
#define LEAT_STEP_NAMES "leat.step_names"
typedef struct LeatStepNames {
    LeatChained chained;  // its name is LEAT_STEP_NAMES
    int32_t step_count;
    const char* const* names;  // by step
} LeatStepNames;

// A range of a slab.
typedef struct LeatPlacement {
    LeatSlab* slab;
    int64_t offset_bytes;
} LeatPlacement;

// Where link() finds transients and packed constants. Slabs outlive the instance.
typedef struct LeatLinkage {
    LeatHeader header;
    int32_t transient_count;
    const LeatPlacement* transients;
    int32_t constant_count;
    const LeatPlacement* constants;
} LeatLinkage;

// ---- Runs ----

// The moment at which a queue's timeline reaches a value. 0 is reached from the beginning.
typedef struct LeatPoint {
    int32_t queue;
    uint64_t value;
} LeatPoint;

// An input or output of one execution. actual_extents: of an output of data-dependent size, one
// number an axis, written before the signal point is reached; else may be null.
typedef struct LeatBinding {
    LeatSlab* slab;  // null for host inputs
    int64_t offset_bytes;
    int64_t bytes;
    int64_t* actual_extents;
} LeatBinding;

// In the device's ticks; see clock_correlation().
typedef struct LeatStepTime {
    int32_t step;
    int64_t begin_ticks;
    int64_t end_ticks;
} LeatStepTime;

// The host's; written until the signal point is reached.
typedef struct LeatProfile {
    LeatHeader header;
    int32_t capacity;
    int32_t count;
    LeatStepTime* steps;
} LeatProfile;

// What execute, copy and fill have in common. Waits name points of this backend only, which are
// reached or submitted. signal.queue is the queue it runs on; signal.value is larger than that of
// every earlier submission there. Submissions of one queue are made by one thread at a time.
typedef struct LeatSubmission {
    LeatHeader header;
    int32_t wait_count;
    const LeatPoint* waits;
    LeatPoint signal;
    uint64_t request;      // for cancel(); 0: cannot be cancelled
    LeatProfile* profile;  // null: no times are wanted; execute only
} LeatSubmission;

// One end of a copy: a range of a slab, or (slab null) host memory at `host`.
typedef struct LeatCopy {
    LeatHeader header;
    LeatPlacement from;
    const void* from_host;
    LeatPlacement to;
    void* to_host;
    int64_t bytes;
} LeatCopy;

// Repeats the low pattern_bytes (1, 2, 4 or 8) of pattern over the range.
typedef struct LeatFill {
    LeatHeader header;
    LeatPlacement to;
    int64_t bytes;
    uint64_t pattern;
    int32_t pattern_bytes;
} LeatFill;

// `code`: kLeatOk, or the error that the point completed with. Runs on a thread of the plugin's
// own. May only post a token: it does not block and does not call the plugin.
typedef void (*LeatReached)(void* user, LeatCode code);

typedef struct LeatClockSample {
    LeatHeader header;
    int64_t device_ticks;
    int64_t host_ns;  // of LeatHostApi::monotonic_ns, at the same moment
    double ns_per_tick;
    int64_t uncertainty_ns;
} LeatClockSample;

typedef struct LeatLiveObjects {
    LeatHeader header;
    int64_t slabs;
    int64_t executables;
    int64_t instances;
    int64_t submissions;  // whose signal point is not reached
} LeatLiveObjects;

// ---- Custom operators ----

typedef struct LeatOperator {
    LeatHeader header;
    const char* domain;
    const char* op_type;
    int32_t min_inputs;
    int32_t max_inputs;  // -1: any number
    int32_t output_count;
    void* user;
    // Fills dtype, rank and extents (room for 8 an output) of the outputs; data is null.
    LeatCode (*infer)(void* user,
                      const LeatNodeView* node,
                      int32_t input_count,
                      const LeatTensorView* const* inputs,
                      LeatTensorView* const* outputs,
                      int64_t* const* output_extents,
                      LeatError* error);
    double (*cost_ns)(void* user, int32_t input_count, const LeatTensorView* const* inputs);
} LeatOperator;

// ---- Extensions ----

// get_extension(LEAT_DRIVER_EXTENSION): which driver runs a device, with its version. What the host
// keeps about times of the device is kept under it.
#define LEAT_DRIVER_EXTENSION "leat_driver"
typedef struct LeatDriverExtension {
    LeatHeader header;
    // Valid until shutdown; null: there is no such device, or it has no driver.
    const char* (*driver)(LeatBackend* backend, int32_t device);
} LeatDriverExtension;

// In the chain of a LeatBackendApi: what the backend can tell of the machine's devices, also of
// those that it would not use.
#define LEAT_DEVICE_DESCRIPTION "leat.device_description"
typedef struct LeatDeviceDescription {
    LeatChained chained;  // its name is LEAT_DEVICE_DESCRIPTION
    // Writes a JSON object: "available" says whether there is a device, "reason" why there is none
    // (else ""), and "devices" has an object for each, with its "name" and whatever else the
    // backend likes to tell. Needs no backend.
    LeatCode (*describe)(const LeatHostApi* host, const LeatSink* json, LeatError* error);
} LeatDeviceDescription;

// ---- The plugin's table. No entry that lies inside struct_bytes is null. ----

typedef struct LeatBackendApi {
    LeatHeader header;
    uint32_t min_host_version;  // of LEAT_PLUGIN_VERSION; the host's must be at least this
    const char* name;
    const char* library_version;

    // kLeatOk, or another code and the reason: an answer, not a failure. Needs no backend.
    LeatCode (*is_available)(const LeatHostApi* host, LeatError* reason);
    // Null beyond the last.
    const LeatSettingInfo* (*setting)(int32_t index);
    LeatCode (*create)(const LeatHostApi* host,
                       const LeatSettings* settings,
                       LeatBackend** backend,
                       LeatError* error);
    // Waits for what runs, joins all threads of the plugin and destroys the backend. kLeatBusy
    // while a slab, executable or instance lives: then nothing has happened.
    LeatCode (*shutdown)(LeatBackend* backend, LeatError* error);
    LeatCode (*live_objects)(LeatBackend* backend, LeatLiveObjects* live, LeatError* error);
    // An extension's table by name; null: not known.
    const void* (*get_extension)(LeatBackend* backend, const char* name);
    // Null beyond the last.
    const LeatDeviceInfo* (*device)(LeatBackend* backend, int32_t index);

    // Memory. Zero bytes is kLeatInvalidArgument.
    LeatCode (*allocate_slab)(
        LeatBackend* backend, int32_t domain, int64_t bytes, LeatSlab** slab, LeatError* error);
    LeatCode (*import_slab)(LeatBackend* backend,
                            int32_t domain,
                            void* memory,
                            int64_t bytes,
                            LeatSlab** slab,
                            LeatError* error);
    // A handle of the operating system, kind "opaque_fd"; the caller closes it.
    LeatCode (*export_slab)(
        LeatBackend* backend, LeatSlab* slab, const char* kind, int64_t* handle, LeatError* error);
    void (*free_slab)(LeatBackend* backend, LeatSlab* slab);
    // Valid until free_slab. Host writes are seen by submissions after flush_slab, device writes
    // by the host after their point and flush_slab.
    LeatCode (*map_slab)(LeatBackend* backend, LeatSlab* slab, void** memory, LeatError* error);
    LeatCode (*flush_slab)(LeatBackend* backend,
                           LeatSlab* slab,
                           int64_t offset_bytes,
                           int64_t bytes,
                           LeatError* error);

    // Queues.
    LeatCode (*submit_copy)(LeatBackend* backend,
                            const LeatSubmission* submission,
                            const LeatCopy* copy,
                            LeatError* error);
    LeatCode (*submit_fill)(LeatBackend* backend,
                            const LeatSubmission* submission,
                            const LeatFill* fill,
                            LeatError* error);
    LeatCode (*execute)(LeatBackend* backend,
                        LeatInstance* instance,
                        const LeatSubmission* submission,
                        const LeatBinding* inputs,
                        const LeatBinding* outputs,
                        LeatError* error);
    // The largest value that is reached, with or without an error.
    LeatCode (*timeline_value)(LeatBackend* backend,
                               int32_t queue,
                               uint64_t* value,
                               LeatError* error);
    // kLeatPending, kLeatOk, or the error that the point completed with and its text.
    LeatCode (*poll)(LeatBackend* backend, LeatPoint point, LeatError* error);
    LeatCode (*on_reached)(
        LeatBackend* backend, LeatPoint point, LeatReached callback, void* user, LeatError* error);
    // Completes every point of the queue that is not reached, now and later, with `code`.
    LeatCode (*fail)(LeatBackend* backend, int32_t queue, LeatCode code, LeatError* error);
    // The host will not ask about points of the queue up to `value` again.
    LeatCode (*forget_failures)(LeatBackend* backend,
                                int32_t queue,
                                uint64_t value,
                                LeatError* error);
    // Submissions of the request that have not begun complete with kLeatCancelled.
    LeatCode (*cancel)(LeatBackend* backend, uint64_t request, LeatError* error);

    // Compiling. `capabilities` has an element for each node. Its graph may have inputs of unknown
    // rank, which compile() never gets: there the host asks again when it knows their ranks.
    LeatCode (*capabilities)(LeatBackend* backend,
                             int32_t device,
                             const LeatGraphView* graph,
                             LeatNodeCapability* const* capabilities,
                             LeatError* error);
    LeatCode (*preprocess)(LeatBackend* backend,
                           int32_t device,
                           const LeatGraphView* graph,
                           const LeatSettings* settings,
                           const LeatSink* blob,
                           LeatError* error);
    LeatCode (*compile)(LeatBackend* backend,
                        int32_t device,
                        const LeatGraphView* graph,
                        const LeatCompileOptions* options,
                        LeatExecutable** executable,
                        LeatError* error);
    void (*free_executable)(LeatBackend* backend, LeatExecutable* executable);
    LeatCode (*save)(LeatBackend* backend,
                     LeatExecutable* executable,
                     const LeatSink* sink,
                     LeatError* error);
    LeatCode (*load)(LeatBackend* backend,
                     int32_t device,
                     const void* data,
                     int64_t bytes,
                     LeatExecutable** executable,
                     LeatError* error);
    const LeatExecutableInfo* (*executable_info)(LeatBackend* backend, LeatExecutable* executable);
    // Has written all packed bytes of constants[index] when it returns.
    LeatCode (*pack)(LeatBackend* backend,
                     LeatExecutable* executable,
                     int32_t index,
                     const LeatTensorView* tensor,
                     LeatPlacement to,
                     LeatError* error);
    LeatCode (*requirements)(LeatBackend* backend,
                             LeatExecutable* executable,
                             const LeatRunShape* shape,
                             const LeatRequirements** requirements,
                             LeatError* error);
    void (*free_requirements)(LeatBackend* backend, const LeatRequirements* requirements);
    LeatCode (*link)(LeatBackend* backend,
                     LeatExecutable* executable,
                     const LeatRunShape* shape,
                     const LeatLinkage* linkage,
                     LeatInstance** instance,
                     LeatError* error);
    void (*free_instance)(LeatBackend* backend, LeatInstance* instance);

    LeatCode (*clock_correlation)(LeatBackend* backend,
                                  int32_t device,
                                  LeatClockSample* sample,
                                  LeatError* error);
    // The callbacks stay valid until shutdown; the struct and its texts during the call.
    LeatCode (*register_operator)(LeatBackend* backend,
                                  const LeatOperator* custom,
                                  LeatError* error);
    // A kernel of this backend for a registered operator; what the bytes are is the backend's own
    // affair. They are copied.
    LeatCode (*register_kernel)(LeatBackend* backend,
                                const char* domain,
                                const char* op_type,
                                const void* blob,
                                int64_t bytes,
                                LeatError* error);
} LeatBackendApi;

// The plugin's only symbol. `version` is the host's LEAT_PLUGIN_VERSION. Returns the plugin's
// table, also for versions that it cannot work with: the host compares and says so. Null: the
// plugin cannot even do that. Starts nothing.
const LeatBackendApi* leat_backend_query(const LeatHostApi* host, uint32_t version);
typedef const LeatBackendApi* (*LeatBackendQuery)(const LeatHostApi* host, uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
