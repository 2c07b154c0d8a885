#pragma once
// What one process did with the card: kernels by name, functions that nobody answered, use of memory. Written as lines
// "kind<TAB>number…<TAB>name" to record_folder/device-PID.tsv when the process ends, or when the start-up hook asks.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace memstrata::device {

class Record {
 public:
  /// `name` must live as long as the process: kernel names of a loaded module do.
  void RegisterKernel(const void* function, const char* name);
  /// Counts a launch of a registered kernel (or of one without a name).
  void CountLaunch(const void* function);
  void CountLibraryCall(std::string_view name) { CountIn(library_calls_, name); }
  /// An entry point that the program asked for by name and that this library lacks.
  void CountMissing(std::string_view name) { CountIn(missing_, name); }
  /// A function that the program called and was told that the card cannot do.
  void CountRefused(std::string_view name) { CountIn(refused_, name); }
  uint64_t launch_count() const { return launch_count_; }
  /// Nothing is written for a process that never used the card.
  void Write();

 private:
  using Counts = std::map<std::string, uint64_t, std::less<>>;
  void CountIn(Counts& counts, std::string_view name);

  std::mutex mutex_;
  std::unordered_map<const void*, const char*> kernel_names_;
  std::unordered_map<const void*, uint64_t> launches_;
  Counts library_calls_;
  Counts missing_;
  Counts refused_;
  uint64_t launch_count_ = 0;
};

Record& ProcessRecord();

}  // namespace memstrata::device
