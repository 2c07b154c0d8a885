#pragma once
// Which libraries and functions are the GPU vendor's, by their names.

#include <string>
#include <string_view>

namespace memstrata::dryrun {

/// "libcudart.so.12" and the like: a shell stands for it.
bool IsVendorLibrary(std::string_view library_name);
/// A function that one of these libraries exports.
bool IsVendorFunction(std::string_view function_name);

}  // namespace memstrata::dryrun
