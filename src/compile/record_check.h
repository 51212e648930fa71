// What a file of a compiled graph holds, read and checked: nothing in it is trusted.
#pragma once

#include <filesystem>

#include "leat/graph.h"
#include "saved/compiled_file.h"
#include "saved/compiled_record.h"

namespace leat {

// With graphs whose ids are in range and whose operands come before their users. kParse: it is no
// such record.
Result<CompiledRecord> read_checked_record(CompiledFile& file);

// kParse: the placement is none of the record's graph and devices. Whether parts are parts of the
// graph is for restore_parts() to say.
Status check_placement(const CompiledRecord& record);

// The graph after the passes that the file holds, for who does not run it: on any machine, with
// whatever operators; verify() is the caller's.
Result<Graph> saved_graph_of(const std::filesystem::path& path);

}  // namespace leat
