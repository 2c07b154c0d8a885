#include "query/redact.h"

#include <gtest/gtest.h>

#include "analysis/frames/useful_frame.h"

namespace memstrata {
namespace {

TEST(Redact, FoldersHostsAndUserMetadataGo) {
  Store store;
  store.sources.push_back({.file = "/home/ada/run 7/snapshot.pickle",
                           .format = "torch_snapshot",
                           .metadata = {{"expandable_segments", "True"}, {"script", "/home/ada/train.py"}}});
  store.heaps.push_back({.id = "node17.example/GPU_0", .allocator = "bfc", .host = "node17.example"});
  store.diagnostics.push_back({.text = "/home/ada/run 7/snapshot.pickle ends early on node17.example."});
  store.contexts.push_back({.user_metadata = store.strings.Intern("secret=1")});
  const auto add = [&](std::string_view function, std::string_view file) {
    return store.stacks.InternFrame(store.strings.Intern(function), store.strings.Intern(file), 7,
                                    GuessFrameKind(file, function));
  };
  const FrameId own = add("forward", "/home/ada/secret/model.py");
  const FrameId library = add("linear", "/home/ada/torch/venv/lib/python3.11/site-packages/torch/nn/functional.py");
  const FrameId native = add("at::native::add", "/build/pytorch/aten/src/ATen/native/Add.cpp");

  Redact(store);

  const auto file_of = [&](FrameId frame) { return store.String(store.stacks.frames().file[frame.value]); };
  EXPECT_EQ(file_of(own), "model.py");
  EXPECT_EQ(file_of(library), "/site-packages/torch/nn/functional.py");
  EXPECT_TRUE(IsFrameworkCode(store, library));
  EXPECT_EQ(file_of(native), "/aten/src/ATen/native/Add.cpp");
  EXPECT_EQ(store.sources[0].file, "snapshot.pickle");
  EXPECT_EQ(store.sources[0].metadata[0].second, "True");
  EXPECT_EQ(store.sources[0].metadata[1].second, "removed");
  EXPECT_EQ(store.heaps[0].id, "host-1/GPU_0");
  EXPECT_EQ(store.heaps[0].host, "host-1");
  EXPECT_EQ(store.diagnostics[0].text, "snapshot.pickle ends early on host-1.");
  EXPECT_EQ(store.contexts[0].user_metadata.value, 0U);
}

TEST(Redact, TextsOfThePersonWhoRecordedGo) {
  Store store;
  store.sources.push_back({.file = "/data/ada_run.pickle", .format = "torch_snapshot"});
  store.stacks.InternFrame(store.strings.Intern("f"), store.strings.Intern("/home/ada/train.py"), 7,
                           FrameKind::kPython);
  const auto add = [&](SpanKind kind, std::string_view name) {
    store.spans.name.PushBack(store.strings.Intern(name));
    store.spans.kind.PushBack(kind);
  };
  // Frameworks' names say what the run does, and analyses need them.
  const std::vector<std::string_view> kept = {"ProfilerStep#3", "Optimizer.step#AdamW.step", "## forward ##",
                                              "nccl:all_reduce", "adaptive"};
  for (const std::string_view name : kept) add(SpanKind::kAnnotation, name);
  for (const std::string_view name : {"/home/ada/loader", "load C:\\data", "run --token=SEKRIT", "lr=3", "ada@node17"})
    add(SpanKind::kAnnotation, name);
  add(SpanKind::kAnnotation, "load of ada");
  add(SpanKind::kModule, "jit_step(7)");

  Redact(store);

  const auto name = [&](size_t row) { return store.String(store.spans.name[row]); };
  for (size_t row = 0; row < kept.size(); ++row) EXPECT_EQ(name(row), kept[row]);
  for (size_t row = kept.size(); row < kept.size() + 5; ++row) EXPECT_EQ(name(row), "removed");
  EXPECT_EQ(name(kept.size() + 5), "load of user-1");
  EXPECT_EQ(name(kept.size() + 6), "jit_step(7)");
  EXPECT_EQ(store.sources[0].file, "user-1_run.pickle");
}

}  // namespace
}  // namespace memstrata
