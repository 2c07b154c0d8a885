#include "core/streams.h"

#include <chrono>

#include "core/record.h"

namespace memstrata::device {
namespace {

uint64_t NowNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace

Stream* Streams::Known(const Stream* stream) {
  auto* mutable_stream = const_cast<Stream*>(stream);
  return streams_.contains(mutable_stream) ? mutable_stream : nullptr;
}

Stream* Streams::Create(int32_t device, uint32_t flags, int32_t priority) {
  const std::scoped_lock lock(mutex_);
  auto* stream = new Stream{device, priority, flags, 0};
  streams_.insert(stream);
  return stream;
}

void Streams::Destroy(Stream* stream) {
  const std::scoped_lock lock(mutex_);
  if (streams_.erase(stream) > 0) delete stream;
}

uint64_t Streams::CaptureIdOf(const Stream* stream) {
  const std::scoped_lock lock(mutex_);
  const Stream* known = Known(stream);
  return known == nullptr ? 0 : known->capture_id;
}

bool Streams::BeginCapture(Stream* stream) {
  const std::scoped_lock lock(mutex_);
  Stream* known = Known(stream);
  if (known == nullptr || known->capture_id != 0) return false;
  known->capture_id = ++last_capture_id_;
  launches_at_begin_ = ProcessRecord().launch_count();
  return true;
}

Graph* Streams::EndCapture(Stream* stream) {
  const std::scoped_lock lock(mutex_);
  const Stream* known = Known(stream);
  if (known == nullptr || known->capture_id == 0) return nullptr;
  const uint64_t ended = known->capture_id;
  for (Stream* joined : streams_) {
    if (joined->capture_id == ended) joined->capture_id = 0;
  }
  return new Graph{ProcessRecord().launch_count() - launches_at_begin_};
}

void Streams::Recorded(Event* event, const Stream* stream) {
  const std::scoped_lock lock(mutex_);
  const Stream* known = Known(stream);
  event->capture_id = known == nullptr ? 0 : known->capture_id;
  event->recorded_time_ns = NowNs();
}

void Streams::Wait(Stream* stream, const Event* event) {
  const std::scoped_lock lock(mutex_);
  Stream* known = Known(stream);
  if (known == nullptr || event->capture_id == 0 || event->capture_id != last_capture_id_) return;
  for (const Stream* other : streams_) {
    if (other->capture_id == event->capture_id) {  // the capture is still going on
      known->capture_id = event->capture_id;
      return;
    }
  }
}

int32_t Streams::PriorityOf(const Stream* stream) {
  const std::scoped_lock lock(mutex_);
  const Stream* known = Known(stream);
  return known == nullptr ? 0 : known->priority;
}

Streams& ProcessStreams() {
  static auto* const streams = new Streams();
  return *streams;
}

}  // namespace memstrata::device
