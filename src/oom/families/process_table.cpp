// The table of processes that nvidia-smi prints: who is on which device. Ranks that touched the first device before
// they chose their own leave a context there.

#include <map>

#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr size_t kMostRows = 4096;

struct ProcessRow {
  uint64_t device = 0;
  uint64_t pid = 0;
  std::string_view program;
  uint64_t bytes = 0;
};

std::optional<uint64_t> Number(std::string_view word) {
  const auto match = MatchPattern(word, "<int>", 0);
  if (!match || match->end != word.size() || match->values[0].is_negative) return std::nullopt;
  return match->values[0].bytes;
}

// "| 0 N/A N/A 1234 C python 871MiB |": device, instance, pid, type, program, size.
std::optional<ProcessRow> ReadRow(std::string_view line) {
  if (!line.starts_with("| ") || !line.ends_with("MiB |")) return std::nullopt;
  std::vector<std::string_view> words;
  for (line.remove_prefix(2); !line.empty() && words.size() < 64;) {
    const size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  if (words.size() < 6) return std::nullopt;
  const auto type = std::find_if(words.begin() + 2, words.end() - 2,
                                 [](std::string_view word) { return word == "C" || word == "G" || word == "C+G"; });
  if (type >= words.end() - 2) return std::nullopt;
  const auto device = Number(words[0]);
  const auto pid = Number(*(type - 1));
  const std::string_view size = words[words.size() - 2];
  const auto mib = Number(size.substr(0, size.size() - 3));
  if (!device || !pid || !mib || *mib >= uint64_t{1} << 40) return std::nullopt;
  return ProcessRow{*device, *pid, *(type + 1), *mib * kMiB};
}

std::vector<ProcessRow> ReadRows(const LogStream& stream, size_t& begin) {
  std::vector<ProcessRow> rows;
  const std::string_view text = stream.text;
  for (size_t i = 0; i < stream.lines.size() && rows.size() < kMostRows; ++i) {
    const size_t end = i + 1 < stream.lines.size() ? stream.lines[i + 1].first : text.size();
    std::string_view line = text.substr(stream.lines[i].first, end - stream.lines[i].first);
    while (line.ends_with(' ')) line.remove_suffix(1);
    const auto row = ReadRow(line);
    if (!row) continue;
    if (rows.empty()) begin = stream.lines[i].first;
    rows.push_back(*row);
  }
  return rows;
}

// Rows on a device whose process works on another one, where it holds more. Tables of containers show no or other pids:
// there, equal rows of one program, one for each other device, are taken for the same.
std::vector<ProcessRow> StrayRows(const std::vector<ProcessRow>& rows, uint64_t device, size_t device_count) {
  std::vector<ProcessRow> strays;
  std::map<std::pair<std::string_view, uint64_t>, std::vector<ProcessRow>> alike;
  for (const ProcessRow& row : rows) {
    if (row.device != device) continue;
    alike[{row.program, row.bytes}].push_back(row);
    const bool works_elsewhere = std::any_of(rows.begin(), rows.end(), [&](const ProcessRow& other) {
      return other.pid == row.pid && other.device != device && other.bytes > row.bytes;
    });
    if (works_elsewhere) strays.push_back(row);
  }
  if (!strays.empty() || device_count < 2) return strays;
  for (const auto& [key, group] : alike) {
    if (group.size() == device_count - 1 && group.size() > 1) strays = group;
  }
  return strays;
}

}  // namespace

void FindProcessTable(const LogStream& stream, std::vector<OomReport>& reports) {
  size_t begin = 0;
  const std::vector<ProcessRow> rows = ReadRows(stream, begin);
  std::map<uint64_t, uint64_t> held_bytes;  // by device
  for (const ProcessRow& row : rows) held_bytes[row.device] += row.bytes;
  bool has_strays = false;
  for (const auto& [device, bytes] : held_bytes) {
    const std::vector<ProcessRow> strays = StrayRows(rows, device, held_bytes.size());
    if (strays.empty()) continue;
    has_strays = true;
    OomReport report = StartReport(stream, begin, "cuda", "process_table");
    uint64_t stray_bytes = 0;
    for (const ProcessRow& row : strays) stray_bytes += row.bytes;
    report.neighbour_bytes = stray_bytes;
    report.verdict = OomVerdict::kOutside;
    report.text = fmt::format(
        "{} of other ranks hold {} on device {}: contexts that were made before each rank chose its own device. The "
        "batch is limited by this device.",
        strays.size() == 1 ? "1 process" : FormatCount(strays.size()) + " processes", FormatBytes(stray_bytes), device);
    report.details.push_back({"stray_contexts", {}, static_cast<double>(strays.size())});
    report.details.push_back({fmt::format("device {}", device), bytes, {}});
    report.remedies.push_back(
        {"Choose the device before the first CUDA call (torch.cuda.set_device(local_rank), or "
         "CUDA_VISIBLE_DEVICES for each rank).",
         stray_bytes, RemedyBasis::kMeasured, std::nullopt});
    reports.push_back(std::move(report));
  }
  if (rows.empty() || has_strays) return;
  OomReport report = StartReport(stream, begin, "cuda", "process_table");
  report.verdict = OomVerdict::kNotExhaustion;
  report.text =
      fmt::format("A table of {} on {}.", FormatCount(rows.size(), "row"), FormatCount(held_bytes.size(), "device"));
  for (const auto& [device, bytes] : held_bytes)
    report.details.push_back({fmt::format("device {}", device), bytes, {}});
  reports.push_back(std::move(report));
}

}  // namespace memstrata::oom
