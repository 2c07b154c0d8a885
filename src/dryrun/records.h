#pragma once
// What the processes of a dry run left in the record folder: device-PID.tsv of the simulated card
// (dryrun/core/record.h) and torch-PID.tsv with torch-PID.pickle of the start-up hook
// (python/memstrata/_dryrun_hook.py).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace memstrata::dryrun {

struct Count {
  std::string name;
  uint64_t count = 0;
};

/// One more of the name's, which may be new.
void AddCount(std::vector<Count>& counts, std::string name, uint64_t count);

/// A copy from the card to the host, made by one line of the program.
struct ValueRead {
  std::string file;
  uint32_t line = 0;
  std::string function;
  uint64_t size_bytes = 0;
  uint64_t count = 0;
};

/// A line of the program, or of what it calls.
struct CodePlace {
  std::string file;
  uint32_t line = 0;
  std::string function;
};

struct OutOfMemory {
  uint64_t requested_bytes = 0;
  uint64_t reserved_bytes = 0;    // by the framework, when it happened
  uint64_t free_bytes = 0;        // of the card
  std::string text;               // the framework's own; empty: nobody looked at the error, or not the first or last
  std::vector<CodePlace> frames;  // innermost first, in Python; of the first error and of the last
};

struct DeviceRecord {
  uint32_t index = 0;
  uint64_t card_peak_bytes = 0;  // physical memory, by whomever it was taken; the context is not in it
  uint64_t refused_count = 0;  // requests that the card refused, those that a later flush of the cache served included
  std::optional<uint64_t> peak_allocated_bytes;  // by the framework; unknown when the hook could not say
  std::optional<uint64_t> peak_reserved_bytes;
  std::optional<uint64_t> end_allocated_bytes;
  std::vector<OutOfMemory> ooms;
};

struct ProcessRecord {
  uint64_t process_id = 0;
  uint32_t rank = 0;
  std::string torch_version;
  std::string cuda_version;
  std::optional<uint64_t> step_count;  // of the optimizer that made most; unknown without the hook
  // After the last out-of-memory error; unknown when there was none.
  std::optional<uint64_t> allocations_after_oom;
  std::vector<DeviceRecord> devices;  // those that were used
  std::vector<ValueRead> reads;
  std::vector<Count> kernels;  // by their demangled names
  std::vector<Count> library_calls;
  std::vector<Count> unanswered;  // functions that only the generic answer served, and names asked for in vain
  std::vector<Count> refused;     // functions that the program called and was told cannot be done
  std::vector<std::string> notes;
  std::string error_type;  // of the exception that ended the program
  std::string error_text;
  std::vector<CodePlace> error_frames;  // innermost first
  bool is_error_of_memory = false;      // it is an out-of-memory error, or came of one
  uint64_t idle_optimizer_count = 0;    // that had made no step when the run was ended after its steps
  uint64_t shared_block_count = 0;      // that another stream may still use when they are freed
  std::string snapshot_path;            // empty: none was written

  uint64_t PeakBytes() const;
};

/// All processes that used the card, the one with the highest peak first. error: kIo, kCorruptInput.
Result<std::vector<ProcessRecord>> ReadRecords(const std::string& folder);

/// Whether any process took memory on a card, one that was killed included (dryrun/core/shared_use.cpp).
bool WasCardUsed(const std::string& folder);

/// Adds the lines of one file to `record`; kCorruptInput names the line.
Status AddRecordLines(const std::string& text, ProcessRecord& record);

}  // namespace memstrata::dryrun
