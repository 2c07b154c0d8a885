#include "serve/session_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/json_writer.h"

namespace memstrata {
namespace {

constexpr size_t kCacheBytes = 96 << 20;

void WriteError(JsonWriter& json, const Error& error) {
  json.StartObject();
  json.Field("schema", "memstrata.error/1");
  json.Field("code", ErrorCodeName(error.code));
  json.Field("message", std::string_view(error.message));
  json.Field("file", error.file.empty() ? std::nullopt : std::optional<std::string_view>(error.file));
  json.Field("offset", error.offset_bytes);
  json.EndObject();
}

int64_t MillisecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
}

// Only the last part of a name, and of it only letters that cannot mean anything else.
std::string SafeName(std::string_view name) {
  name = name.substr(name.find_last_of("/\\") == std::string_view::npos ? 0 : name.find_last_of("/\\") + 1);
  std::string safe;
  for (const char c : name.substr(0, 100)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                       c == '-' || (c == '.' && !safe.empty());
    safe += plain ? c : '_';
  }
  return safe;
}

Status WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0) return Fail(ErrorCode::kIo, "The file could not be stored; the disk may be full.");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

std::string ErrorJson(const Error& error) {
  JsonWriter json(JsonWriter::Style::kCompact);
  WriteError(json, error);
  return json.Finish();
}

SessionHost::SessionHost(std::vector<std::string> files, SessionLoader loader) : loader_(std::move(loader)) {
  StartReading(std::move(files));
}

SessionHost::~SessionHost() {
  if (reader_.joinable()) reader_.join();
  RemoveAddedFiles();
}

void SessionHost::RemoveAddedFiles() {
  const std::lock_guard lock(mutex_);
  std::error_code ignored;  // a leftover in the temporary folder is no reason to fail at the end
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void SessionHost::StartReading(std::vector<std::string> files) {
  if (reader_.joinable()) reader_.join();
  state_ = State::kReading;
  reading_ = {.file = files.empty() ? "" : files.front(), .read_bytes = {}, .total_bytes = {}, .event_count = {}};
  files_ = files;
  begin_ = std::chrono::steady_clock::now();
  reader_ = std::thread([this, files = std::move(files)]() mutable { Read(std::move(files)); });
}

void SessionHost::Read(std::vector<std::string> files) {
  const auto report = [this](ReadingState now) {
    const std::lock_guard lock(mutex_);
    reading_ = std::move(now);
  };
  Result<std::shared_ptr<SessionIndex>> session = Fail(ErrorCode::kInternal, "");
  try {
    session = loader_(files, report);
  } catch (const std::bad_alloc&) {
    session = Fail(ErrorCode::kLimitExceeded, "There is not enough memory on this machine for this input.");
  }
  std::shared_ptr<SessionIndex> to_prepare;
  {
    const std::lock_guard lock(mutex_);
    elapsed_ms_ = MillisecondsSince(begin_);
    if (session) {
      to_prepare = std::move(*session);
      session_ = {to_prepare, std::make_shared<AnswerCache>(kCacheBytes)};
      state_ = State::kReady;
      error_.reset();
    } else {
      error_ = std::move(session).error();
      KeepOldSession();
    }
    changed_.notify_all();
  }
  if (!to_prepare) return;
  try {
    to_prepare->Prepare();  // while the page learns that the session is ready
  } catch (const std::bad_alloc&) {
    // Whoever asks for what could not be computed is told.
  }
}

// A file that cannot be read does not take away those that could.
void SessionHost::KeepOldSession() {
  state_ = session_.index ? State::kReady : State::kFailed;
  if (state_ == State::kFailed) return;
  std::error_code ignored;  // the folder goes at the end
  std::filesystem::remove(files_.back(), ignored);
  if (error_->file == files_.back()) error_->file = std::filesystem::path(files_.back()).filename();
  files_.pop_back();
}

std::string SessionHost::ProgressJson(std::chrono::milliseconds longest) const {
  std::unique_lock lock(mutex_);
  if (waiting_count_ < kMostWaiting) {
    ++waiting_count_;
    changed_.wait_for(lock, longest, [this] { return state_ != State::kReading; });
    --waiting_count_;
  }
  constexpr std::string_view kStates[] = {"reading", "ready", "failed"};
  JsonWriter json(JsonWriter::Style::kCompact);
  json.StartObject();
  json.Field("state", kStates[static_cast<size_t>(state_)]);
  json.Field("file", std::string_view(reading_.file));
  json.Field("file_count", uint64_t{files_.size()});
  json.Field("read_bytes", reading_.read_bytes);
  json.Field("total_bytes", reading_.total_bytes);
  json.Field("event_count", reading_.event_count);
  json.Field("elapsed_ms", state_ == State::kReading ? MillisecondsSince(begin_) : elapsed_ms_);
  json.Key("error");
  if (error_ && state_ != State::kReading) {
    WriteError(json, *error_);
  } else {
    json.Null();
  }
  json.EndObject();
  return json.Finish();
}

Result<HostedSession> SessionHost::Session() const {
  const std::lock_guard lock(mutex_);
  if (session_.index) return session_;  // also while another file is added to it
  if (state_ == State::kReading) return Fail(ErrorCode::kNotFound, "The input is still being read.");
  return tl::unexpected(*error_);
}

std::optional<Error> SessionHost::Problem() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::kFailed ? error_ : std::nullopt;
}

bool SessionHost::IsReading() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::kReading;
}

void SessionHost::WaitUntilRead() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return state_ != State::kReading; });
}

Result<std::string> SessionHost::StoreUpload(std::string_view name, const BodyReader& read) {
  const std::string safe = SafeName(name);
  if (safe.empty()) return Fail(ErrorCode::kInvalidArgument, "The file has no name.");
  if (folder_.empty()) {
    std::string pattern = (std::filesystem::temp_directory_path() / "memstrata-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      return Fail(ErrorCode::kIo, "No temporary folder could be made for the file.");
    folder_ = pattern;
  }
  const std::string path = (folder_ / fmt::format("{}-{}", ++added_count_, safe)).string();
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return Fail(ErrorCode::kIo, "The file could not be stored.");
  Status written;
  const bool complete = read([&](std::string_view bytes) {
    written = WriteAll(file, bytes);
    return written.has_value();
  });
  close(file);
  if (written && complete) return path;
  unlink(path.c_str());
  if (!written) return tl::unexpected(std::move(written).error());
  return Fail(ErrorCode::kIo, "The file did not arrive completely.");
}

Status SessionHost::AddFile(std::string_view name, const BodyReader& read) {
  std::vector<std::string> files;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kReading)
      return Fail(ErrorCode::kLimitExceeded, "Another file is being read; add this one when it is done.");
    files = files_;
    state_ = State::kReading;  // keeps others out while this one arrives
  }
  Result<std::string> path = StoreUpload(name, read);
  const std::lock_guard lock(mutex_);
  if (!path) {
    state_ = session_.index ? State::kReady : State::kFailed;
    changed_.notify_all();
    return tl::unexpected(std::move(path).error());
  }
  files.push_back(std::move(*path));
  StartReading(std::move(files));
  return {};
}

}  // namespace memstrata
