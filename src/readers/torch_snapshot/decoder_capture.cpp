// What `memstrata.profile` adds to a snapshot. docs/formats/torch_snapshot.md lists the fields.

#include <algorithm>

#include "readers/torch_snapshot/decoder.h"

namespace memstrata::torch_snapshot {
namespace {

// A device type becomes a part of heap ids, so it may be nothing but a short word.
bool IsShortWord(std::string_view text) {
  constexpr size_t kLongestWord = 16;
  return !text.empty() && text.size() <= kLongestWord &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

SampleReason ReasonNamed(std::string_view name) {
  const auto* found = std::find(std::begin(kSampleReasonNames), std::end(kSampleReasonNames), name);
  return found == std::end(kSampleReasonNames) ? SampleReason::kOther
                                               : static_cast<SampleReason>(found - std::begin(kSampleReasonNames));
}

}  // namespace

void Decoder::ReadCapture(Value block, SnapshotRoot& root) {
  const std::vector<Value>* pairs = PairsOf(block);
  if (pairs == nullptr) {
    builder_.diagnostics().Note(Severity::kWarning, "unexpected_value",
                                "\"memstrata\" is not the dict that it should be; it is not read.");
    return;
  }
  root.capture.is_present = true;
  for (size_t i = 0; i + 1 < pairs->size(); i += 2) {
    const Value value = (*pairs)[i + 1];
    const std::string key = Printable((*pairs)[i]);
    if (key == "samples") {
      ReadSamples(value, root.capture);
    } else if (key == "device_type" || key == "host_type") {
      const std::string word = Printable(value);
      if (IsShortWord(word)) (key == "device_type" ? root.capture.device_type : root.capture.host_type) = word;
    } else if (key == "max_entries") {
      if (root.max_entries.empty()) ReadOverflow(Symbol::kTraceAllocMaxEntries, value, root);
    } else if (value.is(Kind::kText)) {
      root.settings.emplace_back("capture." + key, Printable(value));
    }
  }
}

// Rows of device, time_ns, free, total, reserved and allocated bytes, step (-1: none), reason.
void Decoder::ReadSamples(Value rows, CaptureBlock& capture) {
  constexpr size_t kMostSamples = 1'000'000;
  constexpr size_t kColumnCount = 8;
  constexpr uint64_t kMostDevices = 4096;
  for (const Value& row : ItemsOf(rows)) {
    const std::span<const Value> cells = ItemsOf(row);
    uint64_t numbers[5] = {};
    bool is_whole = cells.size() >= kColumnCount && capture.samples.size() < kMostSamples;
    // Negative numbers are large here.
    for (size_t i = 0; is_whole && i < std::size(numbers); ++i)
      is_whole = ToUnsigned(cells[i], &numbers[i]) && numbers[i] <= INT64_MAX;
    const bool is_plausible = numbers[0] < kMostDevices && numbers[2] <= numbers[3];
    if (!is_whole || !is_plausible) {
      builder_.diagnostics().Note(Severity::kDataLoss, "device_sample",
                                  "Rows of \"samples\" are not what the capture writes; they are not read.");
      continue;
    }
    DeviceSample sample{static_cast<int64_t>(numbers[1]), numbers[2], numbers[3], numbers[4]};
    if (cells[7].is(Kind::kText)) sample.reason = ReasonNamed(GetText(cells[7]));
    if (cells[6].is(Kind::kInt) && cells[6].payload() >= 0 && cells[6].payload() < kNone)
      sample.step = static_cast<uint32_t>(cells[6].payload());
    capture.samples.emplace_back(static_cast<uint32_t>(numbers[0]), sample);
  }
}

}  // namespace memstrata::torch_snapshot
