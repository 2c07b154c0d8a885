#pragma once
// FieldWalk over a message inside ScratchBytes, which loads what it comes to: keys and lengths always, payloads on
// request. A plane whose lines are skipped over is walked without reading them.

#include <string_view>

#include "io/protowire/message.h"
#include "io/source/scratch_bytes.h"

namespace memstrata::xla {

class LoadingWalk {
 public:
  /// `message` is a piece of bytes.view(); `bytes` must outlive the walk.
  LoadingWalk(std::string_view message, ScratchBytes& bytes) : walk_(message), message_(message), bytes_(&bytes) {}

  /// Moves to the next field; its payload is not loaded yet.
  bool Next() {
    Load(walk_.offset_bytes(), kLongestHeaderBytes);
    return walk_.Next();
  }
  /// Moves to the next whole event of a line (field 4) and loads it.
  bool NextEvent() {
    while (Next()) {
      if (walk_.field() != 4 || !walk_.is_message() || walk_.cut_off()) continue;
      LoadPayload();
      return true;
    }
    return false;
  }
  std::string_view LoadPayload() {
    const std::string_view payload = walk_.payload();
    if (!payload.empty()) Load(static_cast<size_t>(payload.data() - message_.data()), payload.size());
    return payload;
  }

  /// Where the walk stands.
  const FieldWalk& at() const { return walk_; }
  std::string_view payload() const { return walk_.payload(); }

 private:
  // A key and a length or number, of ten bytes each at most.
  static constexpr size_t kLongestHeaderBytes = 20;

  void Load(size_t begin, size_t size) {
    if (begin + size <= loaded_end_) return;
    loaded_end_ = static_cast<size_t>(bytes_->Load(message_.substr(begin, size)) - message_.data());
  }

  FieldWalk walk_;
  std::string_view message_;
  ScratchBytes* bytes_;
  size_t loaded_end_ = 0;  // from where the walk stands up to here all is loaded
};

}  // namespace memstrata::xla
