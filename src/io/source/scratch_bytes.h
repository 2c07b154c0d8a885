#pragma once
// All bytes of a source in one piece of memory, of which only the parts in use are filled. A reader of a format whose
// names come after the data (XPlane) needs the whole input at hand, but not its events twice: once as bytes and once as
// columns.
//
//   bytes.Load(part);     // before a part of view() is looked at
//   bytes.Release(part);  // after the last look
//
// A plain file is read part by part when Load asks for it; what is packed is unpacked whole at the beginning, and Load
// does nothing. Cost: one copy of what is loaded; memory for what is loaded and not yet released. Not for: small inputs
// (ReadAll).

#include <cstdint>
#include <string_view>
#include <vector>

#include "io/source/input.h"

namespace memstrata {

class ScratchBytes {
 public:
  /// Takes the input. kLimitExceeded above `limit_bytes`, kIo when there is no memory.
  static Result<ScratchBytes> Open(Input& input, uint64_t limit_bytes);

  ScratchBytes(ScratchBytes&& other) noexcept;
  ScratchBytes& operator=(ScratchBytes&&) = delete;
  ~ScratchBytes();

  std::string_view view() const { return {data_, size_bytes_}; }
  /// Fills `part` (a piece of view()), in steps of kStepBytes, and returns the end of the last step: all is loaded from
  /// `part` up to there. Bytes that are not there any more, because the file was cut after it was opened, are zeros
  /// (has_shrunk). One thread at a time.
  const char* Load(std::string_view part);
  /// Gives the steps inside `part` back and returns its end that lies in a step with what follows. What was given back
  /// can be loaded again if the input is a plain file; else it is lost. One thread at a time.
  std::string_view Release(std::string_view part);
  /// Whether the file was cut, or could not be read any more, while it was in use.
  bool has_shrunk() const { return has_shrunk_; }

  static constexpr size_t kStepBytes = size_t{256} << 10;

 private:
  ScratchBytes() = default;
  static Result<ScratchBytes> ReadWhole(ByteSource& source, uint64_t limit_bytes);
  static Result<ScratchBytes> OpenFile(const RandomAccess& file, uint64_t limit_bytes);
  bool Grow(size_t capacity_bytes);
  void LoadStep(size_t step);
  void TakePagesOfSpare(size_t step);

  char* data_ = nullptr;
  size_t size_bytes_ = 0;
  size_t capacity_bytes_ = 0;
  const RandomAccess* file_ = nullptr;  // null: all is loaded
  std::vector<bool> is_loaded_;         // by step
  std::vector<size_t> spare_steps_;     // given back; their pages wait to be moved under the next step
  bool has_shrunk_ = false;
};

}  // namespace memstrata
