// The one command. Nothing of ours throws, but libraries may (memory, the flag library): that ends here as a sentence.

#include <fmt/format.h>

#include <exception>
#include <new>

#include "cli/subcommand.h"

int main(int argc, char** argv) {
  using memstrata::Error;
  using memstrata::ErrorCode;
  memstrata::cli::Console console;
  try {
    return memstrata::cli::ParseAndRun(argc, argv, console);
  } catch (const std::bad_alloc&) {
    return console.ReportError(
        Error{ErrorCode::kLimitExceeded, "There is not enough memory on this machine for this input."}, false);
  } catch (const std::exception& problem) {
    return console.ReportError(
        Error{ErrorCode::kInternal, fmt::format("Internal error: {}. Please report it.", problem.what())}, false);
  }
}
