// The commands and options of graphbench. Explained in docs by `graphbench COMMAND --help`.
#include "options.h"

namespace leat::bench {
namespace {

constexpr uint32_t kExecutes = kBench | kProfile | kRun | kCheck;
constexpr uint32_t kCompiles = kExecutes | kInspect | kCompile;
constexpr uint32_t kPrintsRows = kBench | kCompare;

constexpr CommandInfo kCommands[] = {
    {"bench", kBench, "TARGET...", "latency and throughput of one or more targets"},
    {"profile", kProfile, "TARGET", "time of every step, in a separate pass"},
    {"run", kRun, "TARGET", "one execution; --save keeps inputs and outputs"},
    {"check", kCheck, "TARGET",
     "outputs or the error against stored ones, another backend or other thread counts"},
    {"conformance", kConformance, "DIR...",
     "folders in the ONNX test layout, strict rule; with expected_error.txt (a regular expression "
     "in each line) an error that matches is right"},
    {"inspect", kInspect, "TARGET",
     "operators, inputs, outputs, unsupported list, placement, memory"},
    {"compile", kCompile, "TARGET --save FILE",
     "writes the compiled graph to a file, and times how it is loaded"},
    {"gen", kGen, "[NAME] --save FILE",
     "writes a network of the zoo as ONNX; lists them without NAME"},
    {"devices", kDevices, "", "the machine, its limits on this process, and the backends"},
    {"plan", kPlan, "FILE.csv", "packs buffers with lifetimes: columns id, lower, upper, size"},
    {"compare", kCompare, "BASE NEW", "two results, or commands run in turn with --exec"},
    {"doctor", kDoctor, "", "whether this machine is fit to measure now"},
};

constexpr OptionKind kFlag = OptionKind::kFlag;
constexpr OptionKind kText = OptionKind::kText;
constexpr OptionKind kOutput = OptionKind::kOutput;
constexpr OptionKind kInteger = OptionKind::kInteger;
constexpr OptionKind kCount = OptionKind::kCount;
constexpr OptionKind kNumber = OptionKind::kNumber;
constexpr OptionKind kPositive = OptionKind::kPositive;
constexpr OptionKind kChoice = OptionKind::kChoice;

constexpr OptionInfo kOptions[] = {
    // input
    {"shape", kText, "NAME=1x3x224x224", "", kCompiles, true,
     "shape of an input; one that has a value of its own is bound then; {224,320} in it sweeps "
     "(bench); of several targets those that have the name obey"},
    {"dim", kText, "NAME=N|NAME=MIN..MAX", "", kCompiles, true,
     "a symbolic extent of inputs, or its bounds; an input that has a value of its own keeps it "
     "unless --input or --shape names it; of several targets those that have the name obey"},
    {"input", kText, "NAME=FILE|zeros|ones|random:SEED|arange", "", kExecutes, true,
     "an input's elements: .npy, .pb or a pattern; of several targets those that have the name "
     "obey"},
    {"inputs", kText, "DIR", "", kExecutes, false, "inputs from DIR/input_N.pb (ONNX test layout)"},
    {"seed", kInteger, "N", "0", kExecutes, false, "of random inputs"},
    // where
    {"backend", kText, "LIST", "cpu", kCompiles | kConformance, false,
     "devices in order of preference: cpu, reference, sim, vulkan:0, ..."},
    {"device", kText, "LIST", "", kCompiles | kConformance, false,
     "the same as --backend, and goes before it"},
    {"fallback", kChoice, "forbid|warn|allow", "warn", kCompiles, false,
     "what an operator may do that the first backend lacks"},
    {"place", kText, "NODE=DEVICE", "", kCompiles | kConformance, true,
     "pins a node to a device of the list"},
    {"place-by", kChoice, "order|cost", "order", kCompiles | kConformance, false,
     "the first device of the list that takes a node, or the one that is estimated to be best"},
    {"in-flight", kCount, "N", "1", kCompiles | kConformance, false,
     "1 to 64 requests that bench keeps in flight, from one thread, and that --place-by cost "
     "places "
     "for"},
    {"divide", kChoice, "on|off|reduced", "on", kCompiles | kConformance, false,
     "with --place-by cost, operators over several devices where that is estimated to be faster; "
     "along reduced axes too, which changes bits"},
    {"device-configuration", kText, "NAME|none", "", kCompiles | kConformance, false,
     "annotations of the model that are obeyed; else those that fit the list of devices"},
    {"backend-path", kText, "FILE.so|DIR", "", kCompiles | kConformance | kDevices, false,
     "where shared objects of backends are, before those of the installation"},
    {"backend-setting", kText, "BACKEND.NAME=VALUE", "", kCompiles | kConformance, true,
     "a setting of a backend in a shared object"},
    {"operators", kText, "FILE.so", "", kCompiles | kConformance, true,
     "a shared object with custom operators"},
    {"threads", kText, "N|auto", "auto", kCompiles | kConformance | kDevices | kDoctor, false,
     "threads of the CPU backend"},
    {"pin", kChoice, "core|none", "core", kCompiles | kConformance | kDevices, false,
     "bind threads to cores"},
    {"numa", kChoice, "on|off|all|shards", "on", kCompiles | kConformance | kDevices, false,
     "a request on one NUMA node, no placement, on all nodes, or a part of the batch on each"},
    {"cpus", kText, "0-3,6", "", kExecutes | kDoctor | kDevices, false, "run on these CPUs only"},
    {"optimize", kChoice, "on|off", "on", kCompiles | kConformance, false, "graph passes"},
    {"memory-limit", OptionKind::kBytes, "2GiB", "", kCompiles, false,
     "compile fails beyond it, with numbers"},
    // how long
    {"warmup", kText, "auto|N|MSms", "auto", kBench, false,
     "runs or milliseconds; auto: until the median settles, at most 2 s"},
    {"min-time", kNumber, "S", "3", kBench, false, "measure at least so long"},
    {"min-runs", kInteger, "N", "50", kBench, false, "and so many runs"},
    {"max-time", kPositive, "S", "60", kBench, false,
     "but never longer; without --min-time that is at most this"},
    {"runs", kCount, "N", "", kBench | kProfile, false,
     "exactly so many runs, unless --max-time is given and ends them"},
    {"cool-down", kNumber, "S", "", kBench, false,
     "pause between targets, rounds of their turns, and processes"},
    {"timeout", kNumber, "S", "", kBench | kRun | kCheck | kConformance, false,
     "of the whole command, 0: none; exit 7; bench writes what it has"},
    {"repeat", kCount, "N", "1", kBench, false,
     "measure in N processes: median of their medians, and spread"},
    {"interleave", kChoice, "on|off", "on", kBench, false, "take turns between several targets"},
    // load
    {"streams", kCount, "N", "1", kBench, false,
     "concurrent requests, each on its own thread; --warmup N is of each"},
    {"rate", kPositive, "R", "", kBench, false,
     "open loop: R runs a second, latency from the intended start"},
    {"arrival", kChoice, "const|poisson", "const", kBench, false, "of --rate"},
    {"think", kNumber, "MS", "", kBench, false, "pause after each run"},
    {"deadline", kPositive, "MS", "", kBench | kRun, false, "of each run; misses are counted"},
    {"cold-cache", kChoice, "none|all", "none", kBench, false, "sweep the caches before each run"},
    // output
    {"percentiles", kText, "LIST", "50,90,95,99,99.9", kBench, false,
     "numbers from 0 to 100; n/a (null in JSON, empty in CSV) where too few runs lie beyond"},
    {"histogram", kFlag, "", "", kBench, false, "show it"},
    {"samples", kOutput, "FILE", "", kBench, false, "one little-endian int64 of nanoseconds a run"},
    {"per-node", kFlag, "", "", kBench, false, "step times of a separate pass"},
    {"calibrate", kFlag, "", "", kProfile, false,
     "time each operator alone on each device, and links; kept for later compilations"},
    {"top", kInteger, "N", "20", kBench | kProfile, false, "rows of step tables"},
    {"sort", kChoice, "time|order|name|bytes", "time", kBench | kProfile, false, "of step tables"},
    {"trace", kOutput, "FILE", "", kBench | kProfile, false,
     "Trace Event JSON for Perfetto; bench: of a separate run, FILE.N where there are several"},
    {"time-unit", kChoice, "auto|ns|us|ms|s", "auto", kPrintsRows, false, "of times"},
    {"format", kChoice, "table|md|csv|json", "table", kPrintsRows, false, "of standard output"},
    {"json", kOutput, "FILE|-", "", kAll & ~uint32_t{kGen}, false,
     "result as JSON; '-' prints only JSON"},
    {"label", kText, "KEY=VALUE", "", kBench, true, "kept in the JSON"},
    {"progress", kChoice, "auto|never", "auto", kAll, false, "bar on stderr"},
    {"quiet", kFlag, "", "", kAll, false, "errors only on stderr (-q)"},
    {"verbose", kFlag, "", "", kAll, false, "the library's log on stderr (-v)"},
    // baseline
    {"baseline", kText, "FILE", "", kBench, false,
     "compare with this result, of the same targets and options"},
    {"max-regress", OptionKind::kPercent, "5%", "5%", kBench | kCompare, false,
     "exit 1 when the interval lies beyond"},
    {"require-stable", kFlag, "", "", kBench, false, "exit 9 when the measurement was noisy"},
    // run, check, conformance, inspect, gen
    {"save", kOutput, "PATH", "", kRun | kGen | kPlan | kCompile, false,
     "folder for inputs and outputs, the ONNX file, the compiled graph, or the CSV file with "
     "offsets"},
    {"weights", kChoice, "copy|refer", "copy", kCompile, false,
     "refer: constants that lie unchanged in the model's files stay there"},
    {"save-format", kChoice, "pb|npy", "pb", kRun, false, "of --save"},
    {"against", kText, "BACKEND", "", kCheck | kConformance, false,
     "compare with another backend; conformance also names the node where they begin to differ"},
    {"threads-sweep", kText, "1,2,4", "", kCheck, false, "outputs must be the same bits"},
    {"rtol", kNumber, "X", "", kCheck | kConformance, false, "relative tolerance"},
    {"atol", kNumber, "X", "", kCheck | kConformance, false, "absolute tolerance"},
    {"isolate", kChoice, "on|off", "on", kCheck | kConformance, false,
     "tests in a process of their own: one that crashes or hangs has failed, and the next go on"},
    {"test-timeout", kNumber, "S", "300", kCheck | kConformance, false,
     "of each test with --isolate on, which has failed then; 0: none"},
    {"filter", kText, "TEXT", "", kConformance, true, "only tests whose name contains TEXT"},
    {"only", kText, "NAME", "", kConformance, true, "only the test of this name"},
    {"list", kFlag, "", "", kConformance, false, "the names of the tests, without running them"},
    {"jobs", kCount, "N", "1", kConformance, false,
     "tests that run side by side, each in a process with one thread that is not bound, unless "
     "--threads and --pin say so"},
    {"junit", kOutput, "FILE", "", kConformance, false, "results as JUnit's XML"},
    {"markdown", kOutput, "FILE", "", kConformance, false,
     "a table of the totals and of the tests that did not pass"},
    {"list-passed", kOutput, "FILE", "", kConformance, false, "names of passed tests, one a line"},
    {"expected", kText, "FILE", "", kConformance, false,
     "exit 1 unless every test listed there passes (others may fail)"},
    {"ops", kFlag, "", "", kInspect, false, "only the operators"},
    {"placement", kFlag, "", "", kInspect, false,
     "compile, and show where nodes run, why, and what moves"},
    {"memory", kFlag, "", "", kInspect, false, "compile, and show the memory plan"},
    {"memory-dial", kFlag, "", "", kInspect, false,
     "compile, and list plans with fewer bytes and less that overlaps"},
    {"annotate", kOutput, "FILE.onnx", "", kInspect, false,
     "the model with its placement as annotations for several devices"},
    {"dot", kOutput, "FILE", "", kInspect, false, "the graph of --placement for Graphviz"},
    {"svg", kOutput, "FILE", "", kInspect, false, "the picture of --memory or --placement as SVG"},
    {"passes", kFlag, "", "", kInspect, false, "compile, and show the passes"},
    {"text", kFlag, "", "", kInspect, false,
     "the graph in text form (after the passes with --passes)"},
    // devices
    {"numa-matrix", kFlag, "", "", kDevices, false,
     "bandwidth and latency of each node's memory from each node"},
    {"buffer", OptionKind::kBytes, "256MiB", "256MiB", kDevices, false,
     "of --numa-matrix; several times the last-level cache"},
    // plan
    {"capacity", OptionKind::kBytes, "N", "", kPlan, false,
     "exit 5 unless the buffers fit; without it: as low as found"},
    {"nodes", kInteger, "N", "10000000", kPlan, false, "of the search, at most"},
    // compare
    {"exec", kText, "COMMAND", "", kCompare, true, "a command that prints graphbench's JSON"},
    {"rounds", kCount, "N", "10", kCompare, false, "of --exec"},
    // all
    {"config", kText, "FILE.json", "", kAll, false, "options from a file"},
    {"dump-config", kOutput, "FILE|-", "", kAll, false, "write the options that are set, and stop"},
    {"help", kFlag, "", "", kAll, false, "this text (-h)"},
};

}  // namespace

std::span<const OptionInfo> option_table() {
    return kOptions;
}
std::span<const CommandInfo> command_table() {
    return kCommands;
}

const CommandInfo* find_command(std::string_view name) {
    for (const CommandInfo& command : kCommands) {
        if (command.name == name) {
            return &command;
        }
    }
    return nullptr;
}

}  // namespace leat::bench
