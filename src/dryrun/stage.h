#pragma once
// The folder that a program is started with: the simulated card, the generic answers, one shell per library of the
// vendor, the settings, the start-up hook of Python, and the records that the processes leave. Private, and removed
// afterwards.

#include <string>
#include <vector>

#include "base/result.h"
#include "dryrun/child.h"
#include "dryrun/request.h"
#include "dryrun/wheel.h"

namespace memstrata::dryrun {

/// The functions that the simulated card answers, from its own symbol table.
Result<std::vector<std::string>> AnsweredFunctions();

class Stage {
 public:
  /// Makes the folder under TMPDIR. error: kUnsupportedFormat (no kernels for the card), kIo, kInvalidArgument (a path
  /// that LD_PRELOAD cannot carry).
  static Result<Stage> Create(const DryRunRequest& request, const Wheel& wheel);
  Stage(Stage&& other) noexcept;
  Stage& operator=(Stage&&) = delete;
  ~Stage();

  /// The environment of the program. Nothing else changes for it: same arguments, same folder, same standard input.
  Environment ChildEnvironment(const DryRunRequest& request) const;
  const std::string& record_folder() const { return record_folder_; }
  /// Removes the records of an earlier run.
  Status ClearRecords() const;

 private:
  explicit Stage(std::string folder);
  Status WriteLibraries(const Wheel& wheel);
  Status WriteSettings(const DryRunRequest& request, const Wheel& wheel) const;

  std::string folder_;
  std::string record_folder_;
  std::string hook_folder_;
  std::vector<std::string> preloaded_;
};

/// What the settings say, one "key value" per line (dryrun/core/settings.h).
std::string SettingsText(const DryRunRequest& request, const Wheel& wheel, const std::string& record_folder);

}  // namespace memstrata::dryrun
