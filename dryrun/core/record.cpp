#include "core/record.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <memory>

#include "core/copies.h"
#include "core/device_memory.h"
#include "core/export.h"
#include "core/settings.h"

namespace memstrata::device {
namespace {

// The library of generic answers (src/dryrun/generic_library.h) exports its counters and names, in the same order.
void WriteGenericCalls(std::FILE* file) {
  const auto* counts = static_cast<const uint64_t*>(dlsym(RTLD_DEFAULT, "memstrata_generic_counts"));
  const auto* name = static_cast<const char*>(dlsym(RTLD_DEFAULT, "memstrata_generic_names"));
  if (counts == nullptr || name == nullptr) return;
  for (; *name != '\0'; name += std::char_traits<char>::length(name) + 1, ++counts) {
    if (*counts > 0) std::fprintf(file, "unanswered\t%" PRIu64 "\t%s\n", *counts, name);
  }
}

void WriteDevices(std::FILE* file) {
  for (int32_t device = 0; device < ProcessSettings().device_count; ++device) {
    const Usage usage = Memory().UsageOf(device);
    std::fprintf(file, "device\t%d\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", device, usage.peak_bytes,
                 usage.used_bytes, usage.allocation_count, usage.refused_count);
  }
}

}  // namespace

void Record::CountIn(Counts& counts, std::string_view name) {
  const std::scoped_lock lock(mutex_);
  const auto found = counts.find(name);
  if (found == counts.end()) {
    counts.emplace(std::string(name), 1);
  } else {
    ++found->second;
  }
}

void Record::RegisterKernel(const void* function, const char* name) {
  const std::scoped_lock lock(mutex_);
  kernel_names_[function] = name;
}

void Record::CountLaunch(const void* function) {
  const std::scoped_lock lock(mutex_);
  ++launch_count_;
  ++launches_[function];
}

void Record::Write() {
  const std::scoped_lock lock(mutex_);
  uint64_t allocation_count = 0;
  for (int32_t device = 0; device < ProcessSettings().device_count; ++device)
    allocation_count += Memory().UsageOf(device).allocation_count + Memory().UsageOf(device).refused_count;
  if (ProcessSettings().record_folder.empty() || (launch_count_ == 0 && allocation_count == 0)) return;
  if (!Memory().IsOwnUse()) return;

  const std::string path = ProcessSettings().record_folder + "/device-" + std::to_string(getpid()) + ".tsv";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "we"), &std::fclose);
  if (file == nullptr) return;
  WriteDevices(file.get());
  std::fprintf(file.get(), "reads\t%" PRIu64 "\n", DeviceCopies().read_count());
  std::map<std::string, uint64_t> kernels;  // several functions may carry one name
  for (const auto& [function, count] : launches_) {
    const auto named = kernel_names_.find(function);
    kernels[named == kernel_names_.end() ? "(unnamed kernel)" : named->second] += count;
  }
  for (const auto& [name, count] : kernels) std::fprintf(file.get(), "kernel\t%" PRIu64 "\t%s\n", count, name.c_str());
  for (const auto& [name, count] : library_calls_)
    std::fprintf(file.get(), "library\t%" PRIu64 "\t%s\n", count, name.c_str());
  for (const auto& [name, count] : missing_)
    std::fprintf(file.get(), "missing\t%" PRIu64 "\t%s\n", count, name.c_str());
  for (const auto& [name, count] : refused_)
    std::fprintf(file.get(), "refused\t%" PRIu64 "\t%s\n", count, name.c_str());
  WriteGenericCalls(file.get());
}

Record& ProcessRecord() {
  static auto* const record = new Record();
  return *record;
}

}  // namespace memstrata::device

/// For the start-up hook, which ends a process without its exit handlers (`--steps`).
MEMSTRATA_ANSWER(void) memstrata_dryrun_write_record() { memstrata::device::ProcessRecord().Write(); }

namespace {
__attribute__((destructor)) void WriteAtExit() { memstrata::device::ProcessRecord().Write(); }
}  // namespace
