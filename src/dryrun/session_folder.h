#pragma once
// Keeps a dry run as a session folder, which every verb opens:
//
//   NAME.memstrata/session.json        what ran, on what
//   NAME.memstrata/dryrun.json         the answer, as --json prints it
//   NAME.memstrata/torch/rank0.pickle  the framework's own snapshot, one per process
//
// The folder is private (0700): snapshots name files and functions of the program.

#include <string>

#include "dryrun/answer.h"

namespace memstrata::dryrun {

/// Fails when `folder` holds something that is not a session: it would be replaced. To be asked before the program
/// runs.
Status CheckReplaceable(const std::string& folder);

/// Copies the snapshots of `answer.run` into `folder`, replacing an older session, and sets `answer.session_folder` and
/// `answer.snapshot_path`. error: kIo.
Status KeepSnapshots(const std::string& folder, DryRunAnswer& answer);

/// Adds session.json and dryrun.json; the folder is complete then. error: kIo.
Status FinishSession(const DryRunAnswer& answer, const std::string& answer_json);

}  // namespace memstrata::dryrun
