#pragma once
// What the user names may be folders: a session of memstrata's capture, a TensorBoard log directory, the folder of one
// run, a dump of compiled programs.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memstrata {

/// Files of this kind are found, and refused in words.
inline constexpr std::string_view kRiegeliSuffix = ".xplane.riegeli";

struct SessionFiles {
  std::vector<std::string> files;
  uint64_t other_run_count = 0;   // earlier runs of the log directories, which are not read
  uint64_t unreadable_count = 0;  // *.xplane.riegeli beside files that can be read
  uint64_t unplanned_count = 0;   // programs of a dump as they were before their memory was planned
};

/// Replaces each folder by the files to read in it: those of every rank where it holds a session.json; else the
/// *.xplane.pb of the run itself, or of the last run (by name, which is its time) below it in plugins/profile; else the
/// compiled programs in it (a dump of --xla_dump_to), of each the file that says most: HloProto, buffer assignment,
/// memory-usage report. Other paths stay as they are. errors: kNotFound when a folder holds nothing that can be read,
/// kUnsupportedFormat when it holds riegeli files alone limits: folders 8 deep, 100,000 entries
Result<SessionFiles> ExpandFolders(const std::vector<std::string>& paths);

}  // namespace memstrata
