#pragma once
// The answers that a page without a server holds in itself (docs/reference/api.md section 8), as text that may stand
// inside a <script> element.

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "query/parameters.h"

namespace memstrata {

/// How an answer is stored: as it is, or packed where it is large.
enum class Packing : uint8_t { kPlain, kGzip };

class EmbeddedAnswers {
 public:
  explicit EmbeddedAnswers(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  bool Has(std::string_view question, const Parameters& parameters) const;
  /// False, and nothing is added, where the limit would be passed. An answer that is there already stays.
  bool AddJson(std::string_view question, const Parameters& parameters, std::string_view json, Packing packing);
  bool AddFrame(std::string_view question, const Parameters& parameters, std::string_view frame);
  /// The same of what PackFrame() made.
  bool AddPackedFrame(std::string_view question, const Parameters& parameters, std::string_view packed);
  /// A frame as it is written into the file. cost: O(n), much more than that of a frame that is not packed
  static std::string PackFrame(std::string_view frame);
  /// A question that cannot be answered, and the sentence that says why.
  bool AddProblem(std::string_view question, const Parameters& parameters, std::string_view sentence);

  /// How much may still be added.
  uint64_t RoomBytes() const { return limit_bytes_ - std::min<uint64_t>(limit_bytes_, text_.size()); }

  /// The whole document. `notes` say what was left out.
  std::string Finish(const std::vector<std::string>& notes) const;

 private:
  bool Add(std::string_view question, const Parameters& parameters, const std::string& value);

  uint64_t limit_bytes_;
  std::string text_;
  std::set<std::string> keys_;
};

}  // namespace memstrata
