#pragma once
// The session of a running server: reads the files in a thread of its own, says how far it is, takes further files.

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "query/answer_cache.h"
#include "serve/http_message.h"

namespace memstrata {

/// How far the file that is being read is. `total_bytes` is nothing where its end is not known.
struct ReadingState {
  std::string file;
  std::optional<uint64_t> read_bytes;
  std::optional<uint64_t> total_bytes;
  std::optional<uint64_t> event_count;
};

/// Reads files into a session; `report_progress` may be called now and then.
using SessionLoader = std::function<Result<std::shared_ptr<SessionIndex>>(
    const std::vector<std::string>& files, const std::function<void(ReadingState)>& report_progress)>;

/// A session and the answers to it that are kept; a new session starts without any.
struct HostedSession {
  std::shared_ptr<SessionIndex> index;
  std::shared_ptr<AnswerCache> answers;
};

class SessionHost {
 public:
  /// Starts to read.
  SessionHost(std::vector<std::string> files, SessionLoader loader);
  /// Waits for the reader, removes files that were added.
  ~SessionHost();
  SessionHost(const SessionHost&) = delete;
  SessionHost& operator=(const SessionHost&) = delete;

  /// The JSON of the question `progress`. While something is being read it waits for the end of that, `longest` at
  /// most; of many that ask at once only kMostWaiting wait, so that threads are left for other questions.
  std::string ProgressJson(std::chrono::milliseconds longest) const;
  /// The session, or why there is none (yet). While a file is added, and when that fails, the one before. cost: O(1)
  Result<HostedSession> Session() const;
  /// Stores what `read` gives under a temporary name and starts to read the session anew with it.
  /// errors: kIo, kInvalidArgument (name), kLimitExceeded (while another read runs)
  Status AddFile(std::string_view name, const BodyReader& read);
  /// Removes the files that were added, for an end that cannot wait for the destructor. The session stays.
  void RemoveAddedFiles();
  /// Blocks until nothing is being read (for the command line).
  void WaitUntilRead();
  bool IsReading() const;
  /// Why there is no session; nothing when there is one.
  std::optional<Error> Problem() const;

  static constexpr size_t kMostWaiting = 16;

 private:
  enum class State : uint8_t { kReading, kReady, kFailed };
  void StartReading(std::vector<std::string> files);
  void Read(std::vector<std::string> files);
  void KeepOldSession();
  Result<std::string> StoreUpload(std::string_view name, const BodyReader& read);

  SessionLoader loader_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable size_t waiting_count_ = 0;  // answers that wait for the end of reading
  State state_ = State::kReading;
  std::vector<std::string> files_;
  ReadingState reading_;
  std::chrono::steady_clock::time_point begin_;
  int64_t elapsed_ms_ = 0;
  HostedSession session_;         // of the last read that went well
  std::optional<Error> error_;    // of the last read, where it failed
  std::filesystem::path folder_;  // of added files; empty until the first
  uint32_t added_count_ = 0;
  std::thread reader_;
};

/// `memstrata.error/1`.
std::string ErrorJson(const Error& error);

}  // namespace memstrata
