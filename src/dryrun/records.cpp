#include "dryrun/records.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "base/tab_lines.h"

namespace memstrata::dryrun {
namespace {

namespace fs = std::filesystem;
using Fields = std::vector<std::string>;

std::string Demangle(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

DeviceRecord& DeviceOf(ProcessRecord& record, uint64_t index) {
  for (DeviceRecord& device : record.devices) {
    if (device.index == index) return device;
  }
  record.devices.push_back({.index = static_cast<uint32_t>(index)});
  return record.devices.back();
}

// Its lines follow that of the error itself; nothing when they come alone.
OutOfMemory* LastOutOfMemory(ProcessRecord& record, uint64_t index) {
  DeviceRecord& device = DeviceOf(record, index);
  return device.ooms.empty() ? nullptr : &device.ooms.back();
}

// The numbers of `fields` from the second on, as far as they are numbers.
struct Line {
  const Fields& fields;
  std::vector<uint64_t> numbers;
};

struct LineKind {
  std::string_view name;
  size_t number_count;  // that must follow
  size_t text_count;    // that must follow them
  void (*add)(const Line& line, ProcessRecord& record);
};

constexpr LineKind kLineKinds[] = {
    {"device", 5, 0,
     [](const Line& line, ProcessRecord& record) {
       if (line.numbers[3] + line.numbers[4] == 0) return;  // never used
       DeviceRecord& device = DeviceOf(record, line.numbers[0]);
       device.card_peak_bytes = line.numbers[1];
       device.refused_count = line.numbers[4];
     }},
    {"peak", 4, 0,
     [](const Line& line, ProcessRecord& record) {
       // Nothing was ever taken: a device that is not used, or one that refused the first request.
       const auto is_it = [&](const DeviceRecord& device) { return device.index == line.numbers[0]; };
       if (line.numbers[2] == 0 && std::ranges::none_of(record.devices, is_it)) return;
       DeviceRecord& device = DeviceOf(record, line.numbers[0]);
       device.peak_allocated_bytes = line.numbers[1];
       device.peak_reserved_bytes = line.numbers[2];
       device.end_allocated_bytes = line.numbers[3];
     }},
    {"oom", 4, 0,
     [](const Line& line, ProcessRecord& record) {
       DeviceOf(record, line.numbers[0]).ooms.push_back({line.numbers[1], line.numbers[2], line.numbers[3]});
     }},
    {"oom_text", 1, 1,
     [](const Line& line, ProcessRecord& record) {
       if (OutOfMemory* oom = LastOutOfMemory(record, line.numbers[0])) oom->text = line.fields[2];
     }},
    {"oom_frame", 2, 2,
     [](const Line& line, ProcessRecord& record) {
       if (OutOfMemory* oom = LastOutOfMemory(record, line.numbers[0]))
         oom->frames.push_back({line.fields[3], static_cast<uint32_t>(line.numbers[1]), line.fields[4]});
     }},
    {"after_oom", 1, 0,
     [](const Line& line, ProcessRecord& record) { record.allocations_after_oom = line.numbers[0]; }},
    {"kernel", 1, 1,
     [](const Line& line, ProcessRecord& record) {
       AddCount(record.kernels, Demangle(line.fields[2]), line.numbers[0]);
     }},
    {"library", 1, 1,
     [](const Line& line, ProcessRecord& record) { AddCount(record.library_calls, line.fields[2], line.numbers[0]); }},
    {"unanswered", 1, 1,
     [](const Line& line, ProcessRecord& record) { AddCount(record.unanswered, line.fields[2], line.numbers[0]); }},
    {"missing", 1, 1,
     [](const Line& line, ProcessRecord& record) { AddCount(record.unanswered, line.fields[2], line.numbers[0]); }},
    {"refused", 1, 1,
     [](const Line& line, ProcessRecord& record) { AddCount(record.refused, line.fields[2], line.numbers[0]); }},
    {"reads", 1, 0, [](const Line&, ProcessRecord&) {}},  // the lines "read" say more
    {"rank", 1, 0,
     [](const Line& line, ProcessRecord& record) { record.rank = static_cast<uint32_t>(line.numbers[0]); }},
    {"steps", 1, 0, [](const Line& line, ProcessRecord& record) { record.step_count = line.numbers[0]; }},
    {"read", 1, 4,
     [](const Line& line, ProcessRecord& record) {
       record.reads.push_back({line.fields[2], static_cast<uint32_t>(ParseUnsigned(line.fields[3]).value_or(0)),
                               line.fields[4], ParseUnsigned(line.fields[5]).value_or(0), line.numbers[0]});
     }},
    {"torch", 0, 1, [](const Line& line, ProcessRecord& record) { record.torch_version = line.fields[1]; }},
    {"cuda", 0, 1, [](const Line& line, ProcessRecord& record) { record.cuda_version = line.fields[1]; }},
    {"note", 0, 1, [](const Line& line, ProcessRecord& record) { record.notes.push_back(line.fields[1]); }},
    {"error", 0, 2,
     [](const Line& line, ProcessRecord& record) {
       record.error_type = line.fields[1];
       record.error_text = line.fields[2];
     }},
    {"error_of_memory", 1, 0, [](const Line&, ProcessRecord& record) { record.is_error_of_memory = true; }},
    {"error_frame", 1, 2,
     [](const Line& line, ProcessRecord& record) {
       record.error_frames.push_back({line.fields[2], static_cast<uint32_t>(line.numbers[0]), line.fields[3]});
     }},
    {"idle_optimizers", 1, 0,
     [](const Line& line, ProcessRecord& record) { record.idle_optimizer_count = line.numbers[0]; }},
    {"shared_blocks", 1, 0,
     [](const Line& line, ProcessRecord& record) { record.shared_block_count = line.numbers[0]; }},
};

Status AddLine(const Fields& fields, ProcessRecord& record) {
  const auto corrupt = [&fields] {
    return Fail(ErrorCode::kCorruptInput, fmt::format("A record has a line \"{}\" that is not understood.", fields[0]));
  };
  const auto* kind = std::find_if(std::begin(kLineKinds), std::end(kLineKinds),
                                  [&](const LineKind& known) { return known.name == fields[0]; });
  if (kind == std::end(kLineKinds) || fields.size() != 1 + kind->number_count + kind->text_count) return corrupt();
  Line line = {fields, {}};
  for (size_t i = 1; i <= kind->number_count; ++i) {
    const std::optional<uint64_t> number = ParseUnsigned(fields[i]);
    if (!number) return corrupt();
    line.numbers.push_back(*number);
  }
  kind->add(line, record);
  return {};
}

Result<std::string> ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return tl::unexpected(Error{ErrorCode::kIo, "It cannot be read.", path.string(), {}});
  return text;
}

// "torch-1234.tsv" → 1234
std::optional<uint64_t> ProcessIdOf(const fs::path& path) {
  const std::string stem = path.stem().string();
  const size_t dash = stem.find('-');
  return dash == std::string::npos ? std::nullopt : ParseUnsigned(stem.substr(dash + 1));
}

void SortByCount(std::vector<Count>& counts) {
  std::sort(counts.begin(), counts.end(),
            [](const Count& a, const Count& b) { return a.count != b.count ? a.count > b.count : a.name < b.name; });
}

}  // namespace

void AddCount(std::vector<Count>& counts, std::string name, uint64_t count) {
  for (Count& known : counts) {
    if (known.name == name) {
      known.count += count;
      return;
    }
  }
  counts.push_back({std::move(name), count});
}

uint64_t ProcessRecord::PeakBytes() const {
  uint64_t peak = 0;
  for (const DeviceRecord& device : devices) peak = std::max(peak, device.card_peak_bytes);
  return peak;
}

bool WasCardUsed(const std::string& folder) {
  std::ifstream file(folder + "/use.slots", std::ios::binary);
  char first_owner[sizeof(int32_t)] = {};  // the first slot is taken first, and never given back
  file.read(first_owner, sizeof(first_owner));
  return std::any_of(std::begin(first_owner), std::end(first_owner), [](char byte) { return byte != 0; });
}

Status AddRecordLines(const std::string& text, ProcessRecord& record) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) MEMSTRATA_TRY(AddLine(SplitTabLine(rest.substr(0, end)), record));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

Result<std::vector<ProcessRecord>> ReadRecords(const std::string& folder) {
  std::map<uint64_t, ProcessRecord> by_process;
  std::vector<fs::path> paths;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem)) paths.push_back(entry.path());
  if (problem) return tl::unexpected(Error{ErrorCode::kIo, "The records cannot be listed.", folder, {}});
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    const std::optional<uint64_t> process_id = ProcessIdOf(path);
    if (!process_id) continue;
    ProcessRecord& record = by_process[*process_id];
    record.process_id = *process_id;
    if (path.extension() == ".pickle") record.snapshot_path = path.string();
    if (path.extension() != ".tsv") continue;
    MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
    MEMSTRATA_TRY(AddRecordLines(text, record));
  }
  std::vector<ProcessRecord> records;
  for (auto& [process_id, record] : by_process) {
    SortByCount(record.kernels);
    SortByCount(record.library_calls);
    SortByCount(record.unanswered);
    SortByCount(record.refused);
    std::sort(record.devices.begin(), record.devices.end(),
              [](const DeviceRecord& a, const DeviceRecord& b) { return a.index < b.index; });
    records.push_back(std::move(record));
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const ProcessRecord& a, const ProcessRecord& b) { return a.PeakBytes() > b.PeakBytes(); });
  return records;
}

}  // namespace memstrata::dryrun
