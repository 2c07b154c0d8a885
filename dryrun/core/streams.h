#pragma once
// Streams, events and captured graphs. Nothing runs, so everything is complete at once; what is modelled is what a
// program can ask: priorities, whether a stream is being captured, and which streams joined the capture through an
// event.

#include <cstdint>
#include <mutex>
#include <set>

namespace memstrata::device {

struct Stream {
  int32_t device = 0;
  int32_t priority = 0;
  uint32_t flags = 0;
  uint64_t capture_id = 0;  // 0: not captured
};

struct Event {
  uint64_t capture_id = 0;  // of the stream that recorded it last
  uint64_t recorded_time_ns = 0;
};

struct Graph {
  uint64_t node_count = 0;
};

class Streams {
 public:
  Stream* Create(int32_t device, uint32_t flags, int32_t priority);
  void Destroy(Stream* stream);
  /// `stream` may be null or one of the vendor's constants for a default stream.
  uint64_t CaptureIdOf(const Stream* stream);
  bool BeginCapture(Stream* stream);
  /// The finished graph, or null when `stream` was not captured.
  Graph* EndCapture(Stream* stream);
  void Recorded(Event* event, const Stream* stream);
  /// A stream that waits for an event of a captured stream takes part in the capture.
  void Wait(Stream* stream, const Event* event);
  int32_t PriorityOf(const Stream* stream);

 private:
  Stream* Known(const Stream* stream);
  std::mutex mutex_;
  std::set<Stream*> streams_;
  uint64_t last_capture_id_ = 0;
  uint64_t launches_at_begin_ = 0;
};

Streams& ProcessStreams();

}  // namespace memstrata::device
