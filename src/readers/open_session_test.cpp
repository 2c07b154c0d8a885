// What a container says at its end, which a document in it need not reach; and how far a reader is in a packed file.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/gzip.h"
#include "readers/reader.h"
#include "readers/test_folder.h"

namespace memstrata {
namespace {

constexpr std::string_view kSnapshot =
    R"({"segments": [], "device_traces": [[{"action": "alloc", "addr": 256, "size": 512, "stream": 0}]]})";

Result<Store> Open(std::string bytes) {
  OpenOptions options;
  options.context.limits = DefaultReadLimits();
  return OpenBytes("snapshot.json.gz", std::move(bytes), options);
}

struct EndCase {
  std::string name;
  std::string bytes;
  bool is_truncated;
  std::string code;  // of the diagnostic about the end; empty: there is none
};

std::string EndCodes(const Store& store) {
  std::string codes;
  for (const Diagnostic& diagnostic : store.diagnostics) {
    if (diagnostic.code == "truncated_input" || diagnostic.code == "trailing_bytes") codes += diagnostic.code;
  }
  return codes;
}

void ExpectEnd(const EndCase& expected) {
  const Result<Store> store = Open(expected.bytes);
  ASSERT_TRUE(store.has_value()) << expected.name << ": " << store.error().message;
  EXPECT_EQ(store->events.size(), 1U) << expected.name;
  EXPECT_EQ(store->sources[0].truncated, expected.is_truncated) << expected.name;
  EXPECT_EQ(EndCodes(*store), expected.code) << expected.name;
}

TEST(OpenSession, AGzipFileIsWholeOnlyWithItsEnd) {
  const std::string whole = GzipCompress(kSnapshot, 6);
  const std::string half = GzipCompress(kSnapshot.substr(0, 40), 6) + GzipCompress(kSnapshot.substr(40), 6);
  ExpectEnd({"whole", whole, false, ""});
  ExpectEnd({"two members", half, false, ""});
  ExpectEnd({"padded with zeros", whole + std::string(700, '\0'), false, ""});
  ExpectEnd({"without its last bytes", whole.substr(0, whole.size() - 4), true, "truncated_input"});
  ExpectEnd({"with bytes after it", whole + "garbage", true, "trailing_bytes"});
  ExpectEnd({"with a second document", whole + whole, false, "trailing_bytes"});
}

TEST(OpenSession, ProgressOfAPackedFileIsItsPlaceInTheFile) {
  const TestFolder folder;
  const std::vector<std::string> files = {(folder.path() / "snapshot.json.gz").string()};
  const std::string packed = GzipCompress("{" + std::string(9 << 20, ' ') + std::string(kSnapshot.substr(1)), 6);
  std::ofstream(files[0], std::ios::binary) << packed;
  OpenOptions options;
  options.context.limits = DefaultReadLimits();
  std::vector<uint64_t> places;
  std::optional<uint64_t> event_count;
  options.context.progress = [&](const ReadProgress& progress) {
    EXPECT_EQ(progress.total_bytes, packed.size());
    places.push_back(progress.read_bytes);
    event_count = progress.event_count;
  };
  const Result<Store> store = OpenSession(files, options);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  ASSERT_GE(places.size(), 2U);
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  EXPECT_EQ(places.back(), packed.size());
  EXPECT_EQ(event_count, 1U);
}

}  // namespace
}  // namespace memstrata
