#include "serve/router.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

namespace memstrata {
namespace {

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";

// A session without heaps; it remembers which files it was to read.
class RouterTest : public testing::Test {
 protected:
  RouterTest()
      : session_({"a.pickle"},
                 [this](const std::vector<std::string>& files, const auto&) -> Result<std::shared_ptr<SessionIndex>> {
                   read_files_ = files;
                   if (fails_) return tl::unexpected(Error{ErrorCode::kCorruptInput, "It is broken.", "a.pickle", 7});
                   return std::make_shared<SessionIndex>(Store{}, "test", std::vector<Document>{});
                 }),
        router_(session_, std::string(kToken), 8080) {
    session_.WaitUntilRead();
  }

  static HttpRequest Get(std::string_view path) {
    return {.method = "GET", .target = "/" + std::string(kToken) + "/" + std::string(path), .host = "127.0.0.1:8080"};
  }
  static BodyReader Body(std::string_view text, bool complete = true) {
    return [text, complete](const auto& take) { return take(text) && complete; };
  }

  bool fails_ = false;
  std::vector<std::string> read_files_;
  SessionHost session_;
  Router router_;
};

TEST_F(RouterTest, AnswersTheApi) {
  const HttpResponse session = router_.Answer(Get("api/v1/session"));
  EXPECT_EQ(session.status, 200);
  EXPECT_EQ(session.content_type, "application/json");
  EXPECT_NE(session.body->find("\"memstrata.session/1\""), std::string::npos);
  EXPECT_NE(router_.Answer(Get("api/v1/progress")).body->find("\"ready\""), std::string::npos);
  EXPECT_EQ(router_.Answer(Get("api/v1/nothing")).status, 404);
  EXPECT_EQ(router_.Answer(Get("api/v1/cursor?heap=0&seq=0")).status, 404);
  EXPECT_EQ(router_.Answer(Get("api/v1/cursor?heap=x")).status, 400);
  EXPECT_EQ(router_.Answer(Get("api/v1/cursor?other=1")).status, 400);
}

TEST_F(RouterTest, OnlyTheTokenOpensAnything) {
  for (const std::string_view target : {"/", "", "*", "/api/v1/session", "/0123456789abcdef0123456789abcdeF/",
                                        "/0123456789abcdef0123456789abcdef", "//0123456789abcdef0123456789abcdef/"}) {
    HttpRequest request = Get("");
    request.target = target;
    EXPECT_EQ(router_.Answer(request).status, 404) << target;
  }
}

TEST_F(RouterTest, RefusesForeignHostsAndOrigins) {
  for (const std::string_view host : {"", "evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:8081"}) {
    HttpRequest request = Get("api/v1/session");
    request.host = host;
    EXPECT_EQ(router_.Answer(request).status, 403) << host;
  }
  HttpRequest request = Get("api/v1/session");
  request.host = "localhost:8080";
  EXPECT_EQ(router_.Answer(request).status, 200);
  for (const std::string_view origin :
       {"", "null", "http://evil.example", "https://127.0.0.1:8080", "http://127.0.0.1:80"}) {
    request.origin = origin;
    EXPECT_EQ(router_.Answer(request).status, 403) << origin;
    EXPECT_TRUE(router_.RefuseUpload(request).has_value()) << origin;
  }
  request.origin = "http://127.0.0.1:8080";
  EXPECT_EQ(router_.Answer(request).status, 200);
}

TEST_F(RouterTest, OtherMethodsAreRefused) {
  HttpRequest request = Get("api/v1/session");
  for (const std::string_view method : {"PUT", "DELETE", "OPTIONS", "TRACE", ""}) {
    request.method = method;
    EXPECT_EQ(router_.Answer(request).status, 405) << method;
  }
}

TEST_F(RouterTest, RepeatsNothingThatTheClientHas) {
  HttpRequest request = Get("api/v1/session");
  const HttpResponse first = router_.Answer(request);
  request.if_none_match = first.etag;
  const HttpResponse again = router_.Answer(request);
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, nullptr);
  EXPECT_EQ(again.etag, first.etag);
  // Nor does it make anything twice.
  EXPECT_EQ(router_.Answer(Get("api/v1/session")).body, first.body);
}

TEST_F(RouterTest, NamesNoFileOutsideThePage) {
  for (const std::string_view path :
       {"../../etc/passwd", "assets/../../etc/passwd", "%2e%2e/etc/passwd", "a.pickle", "index.html%00"}) {
    EXPECT_NE(router_.Answer(Get(path)).status, 200) << path;
  }
}

TEST_F(RouterTest, AddsAFileAndDeletesItAtTheEnd) {
  HttpRequest request = Get("api/v1/sources?name=..%2Fb%20c.pickle");
  request.method = "POST";
  EXPECT_FALSE(router_.RefuseUpload(request).has_value());
  EXPECT_EQ(router_.TakeUpload(request, Body("content")).status, 200);
  session_.WaitUntilRead();
  ASSERT_EQ(read_files_.size(), 2U);
  const std::filesystem::path stored = read_files_[1];
  EXPECT_EQ(stored.filename(), "1-b_c.pickle");
  std::ifstream file(stored);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "content");
  EXPECT_EQ(std::filesystem::status(stored).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(RouterTest, AnUploadThatBreaksOffChangesNothing) {
  HttpRequest request = Get("api/v1/sources?name=b.pickle");
  request.method = "POST";
  EXPECT_EQ(router_.TakeUpload(request, Body("half", false)).status, 500);
  EXPECT_EQ(router_.Answer(Get("api/v1/session")).status, 200);
  EXPECT_EQ(read_files_.size(), 1U);
}

TEST_F(RouterTest, AFileThatCannotBeReadTakesNothingAway) {
  fails_ = true;
  HttpRequest request = Get("api/v1/sources?name=b.pickle");
  request.method = "POST";
  ASSERT_EQ(router_.TakeUpload(request, Body("x")).status, 200);
  session_.WaitUntilRead();
  const std::string progress = *router_.Answer(Get("api/v1/progress")).body;
  EXPECT_NE(progress.find("\"ready\""), std::string::npos);
  EXPECT_NE(progress.find("\"offset\":7"), std::string::npos) << "why the new one is not there";
  EXPECT_EQ(router_.Answer(Get("api/v1/session")).status, 200);
  EXPECT_FALSE(std::filesystem::exists(read_files_.back()));
  // The next one is added to what was there before.
  fails_ = false;
  ASSERT_EQ(router_.TakeUpload(request, Body("x")).status, 200);
  session_.WaitUntilRead();
  EXPECT_EQ(read_files_.size(), 2U);
  EXPECT_NE(router_.Answer(Get("api/v1/progress")).body->find("\"error\":null"), std::string::npos);
}

TEST_F(RouterTest, AFailedFirstReadIsSaidInEveryAnswer) {
  SessionHost broken({"a.pickle"}, [](const std::vector<std::string>&, const auto&) {
    return Result<std::shared_ptr<SessionIndex>>(
        tl::unexpected(Error{ErrorCode::kCorruptInput, "It is broken.", "a.pickle", 7}));
  });
  broken.WaitUntilRead();
  Router router(broken, std::string(kToken), 8080);
  EXPECT_NE(router.Answer(Get("api/v1/progress")).body->find("\"failed\""), std::string::npos);
  EXPECT_EQ(router.Answer(Get("api/v1/session")).status, 422);
}

TEST(Progress, WaitsForTheEndOfReading) {
  std::promise<void> may_end;
  std::future<void> end = may_end.get_future();
  SessionHost slow({"a.pickle"}, [&end](const std::vector<std::string>&, const auto&) {
    end.wait();
    return Result<std::shared_ptr<SessionIndex>>(
        std::make_shared<SessionIndex>(Store{}, "test", std::vector<Document>{}));
  });
  Router router(slow, std::string(kToken), 8080);
  const auto ask = [&router](std::string_view query) {
    return router.Answer(
        {.method = "GET", .target = fmt::format("/{}/api/v1/progress{}", kToken, query), .host = "127.0.0.1:8080"});
  };
  EXPECT_NE(ask("").body->find("\"reading\""), std::string::npos);
  EXPECT_NE(ask("?wait_ms=1").body->find("\"reading\""), std::string::npos);
  for (const std::string_view wrong :
       {"?wait_ms=1001", "?wait_ms=-1", "?wait_ms=x", "?other=1", "?wait_ms=1&wait_ms=1"})
    EXPECT_EQ(ask(wrong).status, 400) << wrong;
  std::future<HttpResponse> waiting = std::async(std::launch::async, [&ask] { return ask("?wait_ms=1000"); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  // So many that they would hold up everything else are answered at once.
  std::vector<std::future<HttpResponse>> many;
  for (size_t i = 0; i < SessionHost::kMostWaiting + 4; ++i)
    many.push_back(std::async(std::launch::async, [&ask] { return ask("?wait_ms=1000"); }));
  const auto answered_count = [&many] {
    return std::count_if(many.begin(), many.end(), [](const std::future<HttpResponse>& one) {
      return one.wait_for(std::chrono::milliseconds(0)) == std::future_status::ready;
    });
  };
  for (int i = 0; i < 80 && answered_count() < 5; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(answered_count(), 5);
  may_end.set_value();
  EXPECT_NE(waiting.get().body->find("\"ready\""), std::string::npos);
}

TEST(RandomToken, IsLongAndNeverTheSame) {
  const std::string one = RandomToken().value();
  EXPECT_EQ(one.size(), 32U);
  EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(one, RandomToken().value());
}

}  // namespace
}  // namespace memstrata
