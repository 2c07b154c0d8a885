#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "cli/common_flags.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "page/page.h"
#include "serve/http_server.h"
#include "serve/router.h"

namespace memstrata::cli {
namespace {

// Shows the address in the browser of the desktop. Without a desktop there is nothing to open.
void OpenBrowser(const std::string& url) {
  const bool has_desktop = std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  if (!has_desktop) return;
  std::string program = "xdg-open";
  std::string argument = url;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  (void)posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
}

// Waits for Ctrl-C or a request to end, then stops the server. Signals are blocked in every thread, so that only this
// one gets them, and as a value. An open page keeps connections on which the server would wait for seconds; there is
// nothing left to say on them, so the process ends without them.
class StopOnSignal {
 public:
  StopOnSignal(HttpServer& server, SessionHost& session)
      : thread_([this, &server, &session] { Wait(server, session); }) {}
  ~StopOnSignal() {
    ended_ = true;
    thread_.join();
  }
  static sigset_t Signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    return signals;
  }

 private:
  void Wait(HttpServer& server, SessionHost& session) {
    const sigset_t signals = Signals();
    const timespec pause{0, 200'000'000};
    bool is_stopping = false;
    while (!ended_) {
      if (sigtimedwait(&signals, nullptr, &pause) > 0) {
        server.Stop();
        is_stopping = true;
      } else if (is_stopping) {
        session.RemoveAddedFiles();
        std::_Exit(kExitOk);
      }
    }
  }

  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

Status CheckFiles(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::error_code problem;
    if (file != "-" && !std::filesystem::exists(file, problem))
      return tl::unexpected(Error{ErrorCode::kNotFound, "There is no such file.", file});
  }
  return {};
}

Result<uint16_t> ReadPort(const Arguments& arguments) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::optional<uint64_t> port, arguments.GetUnsigned("--port"));
  if (port.value_or(0) > UINT16_MAX) return Fail(ErrorCode::kInvalidArgument, "--port is at most 65535.");
  return static_cast<uint16_t>(port.value_or(0));
}

Status Open(const Arguments& arguments, Console& console) {
  MEMSTRATA_ASSIGN_OR_RETURN(const uint16_t wanted_port, ReadPort(arguments));
  MEMSTRATA_TRY(CheckFiles(arguments.positionals));
  if (PageFiles().empty()) return tl::unexpected(SingleFilePage("").error());  // says why there is no page
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string token, RandomToken());
  const sigset_t signals = StopOnSignal::Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  SessionHost session(arguments.positionals, [&arguments](const std::vector<std::string>& files, const auto& progress) {
    return LoadSession(files, arguments, [&progress](const ReadProgress& now) {
      progress({.file = std::string(now.file),
                .read_bytes = now.read_bytes,
                .total_bytes = now.total_bytes,
                .event_count = now.event_count});
    });
  });
  std::unique_ptr<Router> router;
  HttpServer server({.answer = [&](const HttpRequest& request) { return router->Answer(request); },
                     .refuse_upload = [&](const HttpRequest& request) { return router->RefuseUpload(request); },
                     .take_upload = [&](const HttpRequest& request,
                                        const BodyReader& read) { return router->TakeUpload(request, read); }});
  MEMSTRATA_ASSIGN_OR_RETURN(const uint16_t port, server.Bind(wanted_port));
  router = std::make_unique<Router>(session, token, port);
  const std::string url = fmt::format("http://127.0.0.1:{}/{}/", port, token);
  MEMSTRATA_TRY(console.out().Write(fmt::format("{}\n", url)));
  std::fflush(stdout);
  if (!arguments.Has("--no-browser")) OpenBrowser(url);

  std::thread reporter([&] {
    session.WaitUntilRead();
    if (const std::optional<Error> problem = session.Problem()) (void)console.ReportError(*problem, false);
    console.Message("Serving on this machine only. Ctrl-C ends it.");
  });
  Status served;
  {
    const StopOnSignal stop(server, session);
    served = server.Serve();
  }
  // Nothing is written while reading, so there is nothing to wait for.
  if (session.IsReading()) std::_Exit(kExitOk);
  reporter.join();
  return served;
}

int RunOpen(const Arguments& arguments, Console& console) {
  const Status status = Open(arguments, console);
  return status ? console.Finish(kExitOk) : console.ReportError(status.error(), false);
}

constexpr FlagSpec kFlags[] = {
    {"--port", "", "PORT", "Serve on this port of 127.0.0.1 (default: any free one)"},
    {"--no-browser", "", "", "Only print the address, open no browser"},
    kFormatFlag,
    kQuietFlag,
};
constexpr std::string_view kExamples[] = {
    "memstrata open snapshot.pickle",
    "memstrata open before.pickle after.pickle",
    "memstrata open snapshot.pickle --no-browser --port 8765",
};

}  // namespace

const Subcommand kOpen = {
    .name = "open",
    .summary = "Show a capture in the browser: timeline, state, breakdown",
    .description =
        "Reads captures and serves a web page that shows them, on this machine only (127.0.0.1, with a secret "
        "address).\n"
        "The page opens at once and says how far the reading is. Ctrl-C ends the server.",
    .positional = kFilesPositional,
    .flags = kFlags,
    .examples = kExamples,
    .run = RunOpen,
};

}  // namespace memstrata::cli
