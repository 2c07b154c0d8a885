#pragma once
// The folder that starts the recording inside Python programs: a `sitecustomize` and the project's own capture package,
// put on PYTHONPATH. Private, and removed afterwards. A program that Python starts with -I, -E or -S does not see it.

#include <string>

#include "dryrun/child.h"
#include "measure/run.h"

namespace memstrata::measure {

class HookFolder {
 public:
  /// Under TMPDIR. errors: kIo
  static Result<HookFolder> Create();
  HookFolder(HookFolder&& other) noexcept : folder_(std::move(other.folder_)) { other.folder_.clear(); }
  HookFolder& operator=(HookFolder&&) = delete;
  ~HookFolder();

  /// Adds what makes Python programs record themselves into `request.folder`.
  void SetVariables(const RunRequest& request, dryrun::Environment& environment) const;

 private:
  explicit HookFolder(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

}  // namespace memstrata::measure
