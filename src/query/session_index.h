#pragma once
// A session ready to be asked: the store and everything that is derived from it once and kept. Thread-safe.

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "analysis/kept_analyses.h"
#include "analysis/program_runs/program_runs.h"
#include "query/explain.h"
#include "query/grouping.h"
#include "query/plan_residuals.h"

namespace memstrata {

class SessionIndex;

/// One heap with what is kept for it.
class HeapEntry {
 public:
  HeapEntry(const Store& of_store, const Heap& of_heap, uint32_t heap_row)
      : heap_index(of_store, of_heap), heap(of_heap), store(of_store), index(heap_row) {}

  HeapIndex heap_index;
  const Heap& heap;
  const Store& store;
  const uint32_t index;  // in Store::heaps
  std::array<Lazy<Grouping>, std::size(kGroupByNames)> groupings;
  Lazy<std::vector<ProgramRun>> runs;
};

/// A text that another verb prints, such as the JSON of `summary`. The session asks for it once.
struct Document {
  std::string_view name;
  std::function<Result<std::string>(SessionIndex&)> write;
};

class SessionIndex {
 public:
  /// Refers to nothing outside; `version` is the program's.
  SessionIndex(Store store, std::string version, std::vector<Document> documents);
  SessionIndex(const SessionIndex&) = delete;
  SessionIndex& operator=(const SessionIndex&) = delete;

  const Store& store() const { return store_; }
  const std::string& version() const { return version_; }
  std::span<const std::unique_ptr<HeapEntry>> heaps() const { return heaps_; }
  /// The heap shown first: the one with the highest live peak among devices, else among all; nothing without heaps.
  HeapEntry* DefaultHeap();

  const UsefulFrames& Useful() {
    return useful_.Get([&] { return UsefulFrames(store_); });
  }
  /// Of each heap: phases, categories and growth, made once for all that is asked of it.
  KeptAnalyses& analyses() { return analyses_; }
  /// Steps and phases of a heap.
  const Timeline& TimelineOf(const HeapEntry& heap) { return analyses_.Of(heap.heap).timeline; }
  /// What each heap shows. errors: none
  const ExplainAnswer& Explained();
  /// Program runs on a heap of an XPlane profile.
  const std::vector<ProgramRun>& RunsOf(HeapEntry& heap);
  /// Index = row of the allocation table.
  const std::vector<Category>& CategoryOfRow();
  const StackKeys& Keys(GroupBy by);
  const Grouping& GroupingOf(HeapEntry& heap, GroupBy by);
  /// The highest moment of the session. errors: kNotFound without a heap
  const Result<MeasuredPeak>& Peak() {
    return peak_.Get([&] { return MeasurePeak(analyses_); });
  }
  /// Computes what the first picture needs, on two threads: the page asks for it next.
  void Prepare();
  /// The text of a document. errors: kNotFound, or what its writer says
  Result<std::string> DocumentText(std::string_view name);

 private:
  struct KeptDocument {
    Document document;
    Lazy<Result<std::string>> text;
  };

  Store store_;
  KeptAnalyses analyses_;
  std::string version_;
  std::vector<std::unique_ptr<HeapEntry>> heaps_;
  Lazy<UsefulFrames> useful_;
  Lazy<std::vector<Category>> categories_;
  Lazy<ExplainAnswer> explained_;
  Lazy<Result<MeasuredPeak>> peak_;
  Lazy<StackKeys> modules_of_all_layers_;
  std::array<Lazy<StackKeys>, std::size(kGroupByNames)> keys_;
  std::vector<std::unique_ptr<KeptDocument>> documents_;
};

}  // namespace memstrata
