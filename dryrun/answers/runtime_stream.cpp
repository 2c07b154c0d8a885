// CUDA runtime: streams, events and graphs. Everything is complete at once; callbacks run at once.

#include <algorithm>
#include <chrono>

#include "core/export.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/streams.h"

using namespace memstrata::device;

namespace {

constexpr int32_t kCaptureNone = 0;
constexpr int32_t kCaptureActive = 1;

void FillCaptureInfo(const Stream* stream, int32_t* status, uint64_t* id) {
  const uint64_t capture_id = ProcessStreams().CaptureIdOf(stream);
  *status = capture_id == 0 ? kCaptureNone : kCaptureActive;
  if (id != nullptr) *id = capture_id;
}

}  // namespace

MEMSTRATA_ANSWER(int32_t) cudaStreamCreateWithPriority(Stream** stream, uint32_t flags, int32_t priority) {
  *stream = ProcessStreams().Create(CurrentThread().device, flags, priority);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaStreamCreateWithFlags(Stream** stream, uint32_t flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
MEMSTRATA_ANSWER(int32_t) cudaStreamCreate(Stream** stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
MEMSTRATA_ANSWER(int32_t) cudaStreamDestroy(Stream* stream) {
  ProcessStreams().Destroy(stream);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaStreamGetPriority(Stream* stream, int32_t* priority) {
  *priority = ProcessStreams().PriorityOf(stream);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaStreamWaitEvent(Stream* stream, Event* event, uint32_t) {
  ProcessStreams().Wait(stream, event);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t)
cudaStreamAddCallback(Stream* stream, void (*callback)(Stream*, int32_t, void*), void* data, uint32_t) {
  callback(stream, kSuccess, data);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaLaunchHostFunc(Stream*, void (*function)(void*), void* data) {
  function(data);
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaEventCreateWithFlags(Event** event, uint32_t) {
  *event = new Event();
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaEventCreate(Event** event) { return cudaEventCreateWithFlags(event, 0); }
MEMSTRATA_ANSWER(int32_t) cudaEventDestroy(Event* event) {
  delete event;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaEventRecord(Event* event, Stream* stream) {
  ProcessStreams().Recorded(event, stream);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaEventRecordWithFlags(Event* event, Stream* stream, uint32_t) {
  return cudaEventRecord(event, stream);
}
MEMSTRATA_ANSWER(int32_t) cudaEventElapsedTime(float* elapsed_ms, const Event* begin, const Event* end) {
  constexpr double kNsPerMs = 1e6;
  const double elapsed_ns = static_cast<double>(end->recorded_time_ns) - static_cast<double>(begin->recorded_time_ns);
  *elapsed_ms = static_cast<float>(std::max(elapsed_ns, 1.0) / kNsPerMs);  // programs divide by it
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaEventElapsedTime_v2(float* elapsed_ms, const Event* begin, const Event* end) {
  return cudaEventElapsedTime(elapsed_ms, begin, end);
}

MEMSTRATA_ANSWER(int32_t) cudaStreamIsCapturing(Stream* stream, int32_t* status) {
  FillCaptureInfo(stream, status, nullptr);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t)
cudaStreamGetCaptureInfo_v2(Stream* stream, int32_t* status, uint64_t* id, void** graph, const void** dependencies,
                            size_t* dependency_count) {
  FillCaptureInfo(stream, status, id);
  if (graph != nullptr) *graph = nullptr;
  if (dependencies != nullptr) *dependencies = nullptr;
  if (dependency_count != nullptr) *dependency_count = 0;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t)
cudaStreamGetCaptureInfo_v3(Stream* stream, int32_t* status, uint64_t* id, void** graph, const void** dependencies,
                            const void** edges, size_t* dependency_count) {
  if (edges != nullptr) *edges = nullptr;
  return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, dependency_count);
}
/// CUDA 13 gave this name the seven arguments of _v3; in CUDA 12 it has three.
MEMSTRATA_ANSWER(int32_t)
cudaStreamGetCaptureInfo(Stream* stream, int32_t* status, uint64_t* id, void** graph, const void** dependencies,
                         const void** edges, size_t* dependency_count) {
  if (ProcessSettings().cuda_version >= 13000)
    return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, edges, dependency_count);
  FillCaptureInfo(stream, status, id);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaStreamBeginCapture(Stream* stream, int32_t) {
  return ProcessStreams().BeginCapture(stream) ? kSuccess : Remember(kInvalidValue);
}
MEMSTRATA_ANSWER(int32_t) cudaStreamEndCapture(Stream* stream, Graph** graph) {
  *graph = ProcessStreams().EndCapture(stream);
  return *graph != nullptr ? kSuccess : Remember(kInvalidValue);
}
MEMSTRATA_ANSWER(int32_t) cudaThreadExchangeStreamCaptureMode(int32_t* mode) {
  std::swap(*mode, CurrentThread().capture_mode);
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaGraphInstantiate(Graph** executable, const Graph* graph, uint64_t) {
  *executable = new Graph(*graph);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaGraphInstantiateWithFlags(Graph** executable, const Graph* graph, uint64_t flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}
MEMSTRATA_ANSWER(int32_t) cudaGraphGetNodes(const Graph* graph, void**, size_t* node_count) {
  *node_count = graph->node_count;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaGraphDestroy(Graph* graph) {
  delete graph;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaGraphExecDestroy(Graph* executable) {
  delete executable;
  return kSuccess;
}
