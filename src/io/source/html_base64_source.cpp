// PyTorch's `_memory_viz.py trace_plot` writes one HTML page with the snapshot as base64 between quotes. A page may
// hold other base64 (fonts, images), so a text counts only if its first bytes look like a capture.

#include <array>
#include <utility>
#include <vector>

#include "io/source/unpack.h"

namespace memstrata {
namespace {

constexpr std::array<int8_t, 256> MakeAlphabet() {
  std::array<int8_t, 256> table{};
  for (int8_t& value : table) value = -1;
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kDigits.size(); ++i) table[static_cast<unsigned char>(kDigits[i])] = static_cast<int8_t>(i);
  return table;
}
constexpr std::array<int8_t, 256> kAlphabet = MakeAlphabet();

constexpr size_t kBufferBytes = size_t{256} * 1024;

bool IsQuote(char c) { return c == '"' || c == '\'' || c == '`'; }
bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

class HtmlBase64Source final : public ByteSource {
 public:
  explicit HtmlBase64Source(std::unique_ptr<ByteSource> page) : page_(std::move(page)), buffer_(kBufferBytes) {}

  Result<size_t> Read(std::span<std::byte> into) override {
    if (!started_) MEMSTRATA_TRY(FindStart());
    size_t written = 0;
    while (written < into.size() && !ended_) {
      if (used_ == filled_) {
        if (written > 0) break;
        MEMSTRATA_TRY(Refill());
        if (filled_ == 0) return Fail(ErrorCode::kTruncatedInput, "The page ends inside its base64 text.");
      }
      Take(buffer_[used_++]);
      if (bit_count_ >= 8) {
        bit_count_ -= 8;
        into[written++] = static_cast<std::byte>(bits_ >> bit_count_ & 0xFF);
      }
    }
    return written;
  }

 private:
  // Adds the six bits of a digit; fewer than eight were there before.
  void Take(char c) {
    if (std::exchange(escaped_, false) && c != '/') return;  // "\n" in a script; "\/" is a slash
    const int8_t digit = kAlphabet[static_cast<unsigned char>(c)];
    if (digit >= 0) {
      bits_ = bits_ << 6 | static_cast<uint32_t>(digit);
      bit_count_ += 6;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (!IsSpace(c)) {
      ended_ = true;  // '=' or the closing quote
    }
  }

  Status Refill() {
    MEMSTRATA_ASSIGN_OR_RETURN(filled_, page_->Read(std::as_writable_bytes(std::span(buffer_))));
    used_ = 0;
    return {};
  }

  // Leaves used_ at the first digit of the payload.
  Status FindStart() {
    constexpr size_t kTestDigits = 16;
    std::string carried;  // tail of the previous window, so that a start on its border is seen
    while (true) {
      MEMSTRATA_TRY(Refill());
      if (filled_ == 0) {
        return Fail(ErrorCode::kUnsupportedFormat,
                    "This HTML page holds no memory snapshot (no base64 text that decodes to one).");
      }
      const std::string text = carried + std::string(buffer_.data(), filled_);
      for (size_t i = 0; i + kTestDigits < text.size(); ++i) {
        if (!IsQuote(text[i]) || !StartsPayload(std::string_view(text).substr(i + 1, kTestDigits))) continue;
        buffer_.assign(text.begin() + static_cast<ptrdiff_t>(i) + 1, text.end());
        filled_ = buffer_.size();
        started_ = true;
        if (buffer_.size() < kBufferBytes) buffer_.resize(kBufferBytes);
        return {};
      }
      carried = text.size() > kTestDigits ? text.substr(text.size() - kTestDigits - 1) : text;
    }
  }

  static bool StartsPayload(std::string_view digits) {
    std::string decoded;
    uint32_t bits = 0;
    for (size_t i = 0; i < digits.size(); ++i) {
      const int8_t digit = kAlphabet[static_cast<unsigned char>(digits[i])];
      if (digit < 0) return false;
      bits = bits << 6 | static_cast<uint32_t>(digit);
      if (i % 4 == 3) {
        decoded += static_cast<char>(bits >> 16 & 0xFF);
        decoded += static_cast<char>(bits >> 8 & 0xFF);
        decoded += static_cast<char>(bits & 0xFF);
      }
    }
    return LooksLikePayload(decoded);
  }

  std::unique_ptr<ByteSource> page_;
  std::vector<char> buffer_;
  size_t filled_ = 0;
  size_t used_ = 0;
  uint32_t bits_ = 0;
  int bit_count_ = 0;
  bool started_ = false;
  bool ended_ = false;
  bool escaped_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> MakeHtmlBase64Source(std::unique_ptr<ByteSource> page) {
  return std::make_unique<HtmlBase64Source>(std::move(page));
}

}  // namespace memstrata
