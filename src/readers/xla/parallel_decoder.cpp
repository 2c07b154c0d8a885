#include "readers/xla/parallel_decoder.h"

#include <algorithm>

#include "base/parallel.h"

namespace memstrata::xla {
namespace {

constexpr size_t kBatchEvents = 2048;
// Planes below this are not worth a thread.
constexpr size_t kWorthTwoThreadsBytes = size_t{4} << 20;

template <class T>
void Move(Column<T>& into, Column<T>& from) {
  into.Append(from.span());
  from.Truncate(0);
}

}  // namespace

struct ParallelDecoder::Worker {
  explicit Worker(std::string_view whole) : decoder(whole, strings, events) {}

  StringPool strings;
  DecodedEvents events;
  MemoryEventDecoder decoder;
  std::vector<uint32_t> global_names;       // by id in strings
  std::vector<uint32_t> global_memory_ids;  // by row of events.memory_ids
};

struct ParallelDecoder::Batch {
  uint64_t ticket = 0;
  size_t line = 0;  // → lines_
  std::vector<std::string_view> events;
  size_t end = 0;  // of the batch, from the start of the line
};

ParallelDecoder::ParallelDecoder(ScratchBytes& bytes, StringPool& strings, DecodedEvents& into)
    : bytes_(bytes), strings_(strings), into_(into) {
  for (int i = 0; i < 2; ++i) workers_.push_back(std::make_unique<Worker>(bytes.view()));
}

ParallelDecoder::~ParallelDecoder() = default;

void ParallelDecoder::set_steps(const StepGroups& steps) {
  has_xprof_steps_ = steps.differ;
  for (const auto& worker : workers_) worker->decoder.set_steps(steps);
}

void ParallelDecoder::DecodePlane(const Plane& plane, std::span<const LineToDecode> lines) {
  lines_ = lines;
  committed_line_ = SIZE_MAX;
  next_line_ = 0;
  walk_.reset();
  size_t bytes = 0;
  for (const LineToDecode& line : lines) bytes += line.bytes.size();
  for (const auto& worker : workers_) worker->decoder.StartPlane(plane);
  if (bytes < kWorthTwoThreadsBytes) {
    Work(*workers_[0]);
  } else {
    RunBoth([&] { Work(*workers_[0]); }, [&] { Work(*workers_[1]); });
  }
}

void ParallelDecoder::Work(Worker& worker) {
  try {
    DecodeBatches(worker);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;
    turn_.notify_all();
    throw;
  }
}

void ParallelDecoder::DecodeBatches(Worker& worker) {
  Batch batch;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (!Take(batch)) return;
    }
    const LineToDecode& line = lines_[batch.line];
    for (const std::string_view event : batch.events) worker.decoder.Decode(event, line.begin_ps, line.line);
    std::unique_lock lock(mutex_);
    turn_.wait(lock, [&] { return has_failed_ || next_to_commit_ == batch.ticket; });
    if (has_failed_) return;
    Commit(worker, batch);
    ++next_to_commit_;
    turn_.notify_all();
  }
}

// The next events of the line at hand; false when all lines are through.
bool ParallelDecoder::Take(Batch& batch) {
  if (!walk_) {
    if (next_line_ == lines_.size()) return false;
    walk_.emplace(lines_[next_line_++].bytes, bytes_);
  }
  batch.ticket = next_ticket_++;
  batch.line = next_line_ - 1;
  batch.events.clear();
  while (batch.events.size() < kBatchEvents) {
    if (walk_->NextEvent()) {
      batch.events.push_back(walk_->payload());
      continue;
    }
    const std::string_view line = lines_[batch.line].bytes;
    const FieldWalk& end = walk_->at();
    walk_counts_.cut_off |= end.cut_off();
    if (end.damaged()) {
      walk_counts_.NoteDamage(walk_counts_.damaged_events,
                              static_cast<uint64_t>(line.data() - bytes_.view().data()) + end.offset_bytes());
    }
    batch.end = line.size();
    walk_.reset();
    return true;
  }
  batch.end = walk_->at().offset_bytes();
  return true;
}

void ParallelDecoder::Commit(Worker& worker, const Batch& batch) {
  MapNames(worker);
  DecodedEvents& from = worker.events;
  XPlaneEventTable& details = into_.details;
  for (Column<StringId>* names :
       {&from.details.op, &from.details.region, &from.details.data_type, &from.details.shape}) {
    for (StringId& name : names->mutable_span()) name.value = worker.global_names[name.value];
  }
  for (uint32_t& id : from.memory_id.mutable_span()) id = worker.global_memory_ids[id];
  Move(details.time_ps, from.details.time_ps);
  Move(details.line, from.details.line);
  Move(details.stack_bytes, from.details.stack_bytes);
  Move(details.heap_bytes, from.details.heap_bytes);
  Move(details.free_bytes, from.details.free_bytes);
  Move(details.peak_bytes, from.details.peak_bytes);
  Move(details.requested_bytes, from.details.requested_bytes);
  Move(details.fragmentation, from.details.fragmentation);
  Move(details.op, from.details.op);
  Move(details.region, from.details.region);
  Move(details.data_type, from.details.data_type);
  Move(details.shape, from.details.shape);
  Move(details.step, from.details.step);
  if (has_xprof_steps_) Move(details.xprof_step, from.details.xprof_step);
  Move(details.blind, from.details.blind);
  Move(details.nan, from.details.nan);
  Move(into_.addr, from.addr);
  Move(into_.size_bytes, from.size_bytes);
  Move(into_.is_allocation, from.is_allocation);
  Move(into_.memory_id, from.memory_id);
  if (batch.line != committed_line_) {
    committed_line_ = batch.line;
    released_bytes_ = 0;
  }
  const std::string_view done = lines_[batch.line].bytes.substr(0, batch.end);
  released_bytes_ = batch.end - bytes_.Release(done.substr(released_bytes_)).size();
}

// Gives texts and memory IDs that are new to the worker their common numbers. In the order in which the batch uses
// them, so that the numbers are the same whatever the threads did.
void ParallelDecoder::MapNames(Worker& worker) {
  for (auto id = static_cast<uint32_t>(worker.global_names.size()); id < worker.strings.size(); ++id)
    worker.global_names.push_back(strings_.Intern(worker.strings.Get({id})).value);
  for (size_t row = worker.global_memory_ids.size(); row < worker.events.memory_ids.size(); ++row) {
    MemoryId id = worker.events.memory_ids[row];
    id.name.value = worker.global_names[id.name.value];
    const auto [entry, is_new] =
        memory_id_rows_.try_emplace(id.name.value, static_cast<uint32_t>(into_.memory_ids.size()));
    if (is_new) into_.memory_ids.push_back(id);
    worker.global_memory_ids.push_back(entry->second);
  }
}

DecodeCounts ParallelDecoder::counts() const {
  DecodeCounts all = walk_counts_;
  for (const auto& worker : workers_) all.Add(worker->decoder.counts());
  return all;
}

}  // namespace memstrata::xla
