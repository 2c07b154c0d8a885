#include "io/source/input.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/source/read_ahead_source.h"

namespace memstrata {
namespace {

constexpr int kDeepestNesting = 4;
constexpr uint64_t kLargestNestedZipBytes = 1ULL << 30;

/// Passes `source` on and counts its bytes.
class CountedSource final : public ByteSource {
 public:
  CountedSource(std::unique_ptr<ByteSource> source, std::shared_ptr<uint64_t> count)
      : source_(std::move(source)), count_(std::move(count)) {}
  Result<size_t> Read(std::span<std::byte> into) override {
    Result<size_t> got = source_->Read(into);
    if (got) *count_ += *got;
    return got;
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::shared_ptr<uint64_t> count_;
};

enum class Wrapper : uint8_t { kNone, kGzip, kZstd, kZip, kHtml };

bool LooksLikeHtml(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || head[start] != '<') return false;
  std::string lower(head.substr(start, 1024));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return c < 0x80 ? std::tolower(c) : c; });
  return lower.starts_with("<!doctype html") || lower.find("<html") != std::string::npos ||
         lower.find("<head") != std::string::npos || lower.find("<script") != std::string::npos;
}

Wrapper Detect(std::string_view head) {
  if (head.starts_with("\x1F\x8B")) return Wrapper::kGzip;
  if (head.starts_with("\x28\xB5\x2F\xFD")) return Wrapper::kZstd;
  if (head.starts_with("PK\x03\x04")) return Wrapper::kZip;
  return LooksLikeHtml(head) ? Wrapper::kHtml : Wrapper::kNone;
}

Status UnwrapZip(Input& input, std::unique_ptr<PeekableSource> packed, const RandomAccess* access,
                 std::unique_ptr<ByteSource>& unpacked) {
  if (access == nullptr) {
    MEMSTRATA_ASSIGN_OR_RETURN(std::string all, ReadAll(*packed, kLargestNestedZipBytes));
    input.archives.push_back(std::make_unique<MemoryAccess>(std::move(all)));
    access = input.archives.back().get();
  }
  MEMSTRATA_ASSIGN_OR_RETURN(ZipMember member, OpenZipMember(*access));
  input.wrappers.push_back("zip member " + member.name);
  input.other_member_count += member.other_member_count;
  unpacked = std::move(member.source);
  return {};
}

Status Unwrap(Input& input, std::unique_ptr<ByteSource> outermost, const RandomAccess* access) {
  auto current = std::make_unique<PeekableSource>(std::move(outermost));
  for (int level = 0;; ++level) {
    MEMSTRATA_ASSIGN_OR_RETURN(const std::string_view head, current->Peek(kProbeBytes));
    if (head.empty()) {
      return Fail(ErrorCode::kTruncatedInput,
                  level == 0 ? "The file is empty (0 bytes): whatever wrote it did not get to write."
                             : "What is packed in this file is empty (0 bytes).");
    }
    const Wrapper wrapper = Detect(head);
    if (wrapper == Wrapper::kNone) break;
    if (level == kDeepestNesting)
      return Fail(ErrorCode::kLimitExceeded, "The file is packed more than four times over.");
    std::unique_ptr<ByteSource> unpacked;
    switch (wrapper) {
      case Wrapper::kGzip:
        input.wrappers.emplace_back("gzip");
        unpacked = MakeGzipSource(std::move(current), input.container_end);
        break;
      case Wrapper::kZstd:
        input.wrappers.emplace_back("zstd");
        unpacked = MakeZstdSource(std::move(current));
        break;
      case Wrapper::kHtml:
        input.wrappers.emplace_back("base64 in HTML");
        unpacked = MakeHtmlBase64Source(std::move(current));
        break;
      case Wrapper::kZip:
      case Wrapper::kNone:
        MEMSTRATA_TRY(UnwrapZip(input, std::move(current), level == 0 ? access : nullptr, unpacked));
        break;
    }
    current = std::make_unique<PeekableSource>(std::move(unpacked));
  }
  if (input.wrappers.empty()) input.plain_file = access;
  input.bytes = std::move(current);
  return {};
}

}  // namespace

Result<Input> OpenInput(const std::string& path) {
  const auto named = [&](Error error) {
    error.file = path;
    return tl::unexpected(std::move(error));
  };
  Result<std::unique_ptr<FileSource>> file = FileSource::Open(path);
  if (!file) return named(std::move(file).error());
  Input input;
  input.file = path;
  input.file_size_bytes = (*file)->size_bytes();
  // A zip archive is read at random positions, through a descriptor of its own.
  const RandomAccess* access = nullptr;
  if ((*file)->is_regular_file() && path != "-") {
    Result<std::unique_ptr<FileSource>> second = FileSource::Open(path);
    if (!second) return named(std::move(second).error());
    input.archives.push_back(*std::move(second));
    access = input.archives.back().get();
  }
  std::unique_ptr<ByteSource> bytes = *std::move(file);
  if (access != nullptr) bytes = std::make_unique<ReadAheadSource>(std::move(bytes));
  bytes = std::make_unique<CountedSource>(std::move(bytes), input.file_read_bytes);
  if (Status status = Unwrap(input, std::move(bytes), access); !status) return named(std::move(status).error());
  return input;
}

Result<Input> UnwrapBytes(std::string name, std::string bytes) {
  Input input;
  input.file = std::move(name);
  input.file_size_bytes = bytes.size();
  auto archive = std::make_unique<MemoryAccess>(std::move(bytes));
  const MemoryAccess& access = *archive;
  input.archives.push_back(std::move(archive));
  MEMSTRATA_TRY(Unwrap(
      input, std::make_unique<CountedSource>(std::make_unique<MemorySource>(access.view()), input.file_read_bytes),
      &access));
  return input;
}

}  // namespace memstrata
