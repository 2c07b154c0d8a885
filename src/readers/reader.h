#pragma once
// What a reader of one trace format is. Readers are listed in readers/registry.cpp, and found by looking at the first
// bytes of the unwrapped file. To add a format: CONTRIBUTING.md, recipe (a).

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "io/source/input.h"
#include "model/store/store_builder.h"

namespace memstrata {

/// What the reader says of a file before reading it.
enum class Match : uint8_t { kNo, kMaybe, kLikely, kCertain };

struct ProbeInput {
  std::string_view head;  // at most kProbeBytes, unwrapped
  std::string_view file;  // its name, for the suffix only
};

/// Limits against hostile input.
struct ReadLimits {
  uint64_t memory_bytes = 0;  // what a reader may hold; DefaultReadLimits() takes three quarters of the machine
};
ReadLimits DefaultReadLimits();

/// How far the reading of a session is.
struct ReadProgress {
  std::string_view file;                // that is being read now
  uint64_t read_bytes = 0;              // of it, as it lies on the disk
  std::optional<uint64_t> total_bytes;  // nothing for a pipe or an archive: how far it is in there is not known
  std::optional<uint64_t> event_count;  // read so far; nothing where the reader cannot tell yet
};

/// Through it a reader says how many events it has read. Asked only by the thread that reads the bytes.
class EventCounter {
 public:
  std::optional<uint64_t> Count() const { return count_ ? std::optional(count_()) : std::nullopt; }

  /// Lets `count` be asked as long as this lives. cost: O(1)
  class Scope {
   public:
    Scope(EventCounter* counter, std::function<uint64_t()> count) : counter_(counter) {
      if (counter_ != nullptr) counter_->count_ = std::move(count);
    }
    ~Scope() {
      if (counter_ != nullptr) counter_->count_ = nullptr;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    EventCounter* counter_;
  };

 private:
  std::function<uint64_t()> count_;
};

struct ReadContext {
  ReadLimits limits;
  /// Called every few MiB, by the thread that reads the file; may be empty.
  std::function<void(const ReadProgress&)> progress;
  /// Null where nobody asks.
  EventCounter* event_counter = nullptr;
};

struct ReaderInfo {
  std::string_view id;                         // "torch_snapshot": stable, used by --format and in output
  std::string_view title;                      // for people
  std::span<const std::string_view> suffixes;  // shown by doctor; a hint that breaks ties
  Match (*probe)(const ProbeInput&);           // cheap, no allocation beyond the head, never fails
  /// Appends one source to the builder. Errors end the load; everything else is a diagnostic. A truncated file yields
  /// what was read, with Source::truncated set.
  Status (*read)(Input& input, StoreBuilder& builder, const ReadContext& context);
};

/// The one list.
std::span<const ReaderInfo* const> AllReaders();

struct OpenOptions {
  std::string_view format;  // id of a reader; empty = recognise
  ReadContext context;
};

/// Opens, unwraps, recognises and reads files into one frozen store. Errors carry the file's name.
Result<Store> OpenSession(std::span<const std::string> files, const OpenOptions& options);
/// The same for one file in memory (tests, fuzzers).
Result<Store> OpenBytes(std::string name, std::string bytes, const OpenOptions& options);

}  // namespace memstrata
