#pragma once
// Numbers that are not derived but measured or fitted, from one data file (data/plan_constants.toml): each with its
// bounds, how it was found and where it is from.

#include <cstdint>
#include <string>
#include <string_view>

namespace memstrata::plan {

struct Constant {
  double low = 0;
  double best = 0;
  double high = 0;
  std::string how;
  std::string source;
};

/// The constant of that name. A name that the file lacks is a mistake of the program: a test asks for each.
const Constant& GetConstant(std::string_view name);
/// The names that the program uses.
inline constexpr std::string_view kConstantNames[] = {"simulated_peak",
                                                      "compiled_loss",
                                                      "card_context_line",
                                                      "simulated_fragmentation_line",
                                                      "offloaded_line",
                                                      "xla_preallocated_share",
                                                      "usual_image_patches",
                                                      "other_runtime_context_bytes",
                                                      "llama_cpp_compute",
                                                      "data_worker_bytes",
                                                      "host_native_process_bytes",
                                                      "assumed_structure",
                                                      "dense_activations",
                                                      "other_activations",
                                                      "expert_activations",
                                                      "logits_line",
                                                      "unpacked_line",
                                                      "load_copy_line",
                                                      "gathered_layers",
                                                      "inference_activations",
                                                      "workload_context_bytes",
                                                      "communicator_bytes",
                                                      "serving_activation_bytes",
                                                      "serving_graph_bytes",
                                                      "host_process_bytes",
                                                      "host_pinned_bytes_per_communicator",
                                                      "simulated_adapter_peak",
                                                      "simulated_expert_peak",
                                                      "dense_peak",
                                                      "expert_peak",
                                                      "encoder_decoder_peak",
                                                      "inference_peak",
                                                      "reserved_per_allocated",
                                                      "megatron_boundary_tensors",
                                                      "foreach_optimizer_temporaries",
                                                      "for_loop_optimizer_temporaries",
                                                      "adafactor_temporaries",
                                                      "routed_token_copies",
                                                      "packed_training_fixed_bytes",
                                                      "packed_training_bytes_each"};

}  // namespace memstrata::plan
