"""Small configurations, one or more for each family: large enough that tensors outweigh rounding and workspaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Config = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """`kind` says which head the model gets; `adapted` are modules for LoRA by the model's own names."""

    name: str
    kind: str
    config: Config
    adapted: str = "q_proj,v_proj"

    @property
    def model_type(self) -> str:
        return str(self.config["model_type"])


def decoder(name: str, adapted: str = "q_proj,v_proj", **changed: Any) -> Family:
    """Llama's keys, with what differs; a key of None is left out."""
    config: Config = {
        "model_type": name,
        "vocab_size": 32000,
        "hidden_size": 1024,
        "intermediate_size": 2816,
        "num_hidden_layers": 4,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "max_position_embeddings": 4096,
    }
    config.update(changed)
    kept = {key: value for key, value in config.items() if value is not LEFT_OUT}
    kept["model_type"] = kept["model_type"].split("/")[0]
    return Family(name, "causal", kept, adapted)


LEFT_OUT = object()
ALL_HEADS: Config = {"num_key_value_heads": LEFT_OUT}
WIDE: Config = {**ALL_HEADS, "intermediate_size": 4096}
OWN_NAMES: Config = {
    key: LEFT_OUT
    for key in (
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "max_position_embeddings",
    )
}
GPT_KEYS: Config = {**OWN_NAMES, "n_embd": 1024, "n_layer": 4, "n_head": 16, "n_positions": 4096}

DECODERS = (
    decoder("llama"),
    decoder("mistral", sliding_window=None),
    decoder("mistral/window", sliding_window=512),
    decoder("qwen2", tie_word_embeddings=True),
    decoder("qwen3", head_dim=128),
    decoder("gemma", head_dim=128, vocab_size=64000),
    decoder("gemma2", head_dim=128, sliding_window=512, vocab_size=64000),
    decoder("gemma3_text", head_dim=128, sliding_window=512, num_hidden_layers=6, vocab_size=64000),
    decoder("gpt2", "c_attn", **GPT_KEYS),
    decoder("gpt_neox", "query_key_value", **WIDE),
    decoder("gpt_bigcode", "c_attn", **GPT_KEYS),
    decoder("gptj", **GPT_KEYS, rotary_dim=32),
    decoder(
        "gpt_neo",
        **{**OWN_NAMES, "hidden_size": 1024, "num_layers": 4, "num_heads": 16, "max_position_embeddings": 4096},
        attention_types=[[["global", "local"], 2]],
    ),
    decoder("codegen", "qkv_proj", **GPT_KEYS, rotary_dim=32),
    decoder("opt", **{**ALL_HEADS, "intermediate_size": LEFT_OUT}, ffn_dim=4096),
    decoder("phi", **WIDE),
    decoder("phi3", "qkv_proj", pad_token_id=0),
    decoder("starcoder2", **{"intermediate_size": 4096}, sliding_window=None),
    decoder("stablelm", partial_rotary_factor=0.25, use_qkv_bias=True),
    decoder(
        "falcon",
        "query_key_value",
        **{**ALL_HEADS, "intermediate_size": LEFT_OUT},
        multi_query=True,
        new_decoder_architecture=False,
        parallel_attn=True,
        bias=False,
    ),
    decoder(
        "falcon/new",
        "query_key_value",
        **{**ALL_HEADS, "intermediate_size": LEFT_OUT},
        new_decoder_architecture=True,
        num_kv_heads=4,
        bias=False,
    ),
    decoder("bloom", "query_key_value", **OWN_NAMES | {"hidden_size": 1024, "n_layer": 4, "n_head": 16}),
    decoder("mpt", "Wqkv", **OWN_NAMES, d_model=1024, n_layers=4, n_heads=16, max_seq_len=4096),
    decoder(
        "granite", embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.0156, logits_scaling=8.0
    ),
    decoder("olmo"),
    decoder("olmo2"),
    decoder("olmo3", sliding_window=512),
    decoder("cohere"),
    decoder("cohere/qk_norm", use_qk_norm=True),
    decoder("cohere2", sliding_window=512, head_dim=64),
    decoder("nemotron"),
    decoder("glm", head_dim=64, attention_bias=True, pad_token_id=0),
    decoder("glm4", head_dim=64, attention_bias=True, pad_token_id=0),
    decoder("helium", head_dim=64),
    decoder("arcee"),
    decoder("smollm3", pad_token_id=0),
    decoder("ernie4_5"),
    decoder("exaone4", sliding_window=512),
    decoder("hunyuan_v1_dense", head_dim=64),
    decoder("seed_oss", head_dim=64),
    decoder("mixtral", intermediate_size=1408, sliding_window=None, num_local_experts=8, num_experts_per_tok=2),
    decoder(
        "qwen2_moe",
        num_experts=8,
        num_experts_per_tok=2,
        moe_intermediate_size=704,
        shared_expert_intermediate_size=1408,
        num_key_value_heads=16,
    ),
    decoder(
        "qwen3_moe", head_dim=64, num_experts=16, num_experts_per_tok=4, moe_intermediate_size=512, norm_topk_prob=True
    ),
)


def encoder(name: str, kind: str = "masked", adapted: str = "query,value", **changed: Any) -> Family:
    config: Config = {
        "model_type": name.split("/")[0],
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 4,
        "num_attention_heads": 12,
    }
    if kind == "masked":
        config |= {"vocab_size": 30522, "max_position_embeddings": 1024}
    config.update(changed)
    return Family(name, kind, {key: value for key, value in config.items() if value is not LEFT_OUT}, adapted)


SEQ2SEQ: Config = {
    "vocab_size": 32128,
    "d_model": 768,
    "encoder_layers": 4,
    "decoder_layers": 4,
    "encoder_attention_heads": 12,
    "decoder_attention_heads": 12,
    "encoder_ffn_dim": 3072,
    "decoder_ffn_dim": 3072,
    "max_position_embeddings": 1024,
}
T5: Config = {"vocab_size": 32128, "d_model": 768, "d_ff": 2048, "d_kv": 64, "num_layers": 4, "num_heads": 12}

OTHERS = (
    encoder("bert"),
    encoder("roberta", max_position_embeddings=1026),
    encoder("electra", embedding_size=768),
    encoder("electra/narrow", embedding_size=128),
    encoder(
        "distilbert",
        adapted="q_lin,v_lin",
        hidden_size=LEFT_OUT,
        intermediate_size=LEFT_OUT,
        num_hidden_layers=LEFT_OUT,
        num_attention_heads=LEFT_OUT,
        dim=768,
        hidden_dim=3072,
        n_layers=4,
        n_heads=12,
    ),
    encoder("albert", embedding_size=128),
    encoder("albert/groups", embedding_size=128, num_hidden_layers=6, num_hidden_groups=2, hidden_act="gelu"),
    encoder(
        "deberta-v2",
        adapted="query_proj,value_proj",
        relative_attention=True,
        position_buckets=256,
        pos_att_type=["p2c", "c2p"],
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        position_biased_input=False,
    ),
    encoder(
        "deberta-v2/own",
        adapted="query_proj,value_proj",
        relative_attention=True,
        pos_att_type=["c2p"],
        type_vocab_size=2,
        max_position_embeddings=512,
    ),
    encoder("modernbert", adapted="Wqkv", vocab_size=50368, intermediate_size=1152),
    encoder("vit", "image", image_size=224, patch_size=16),
    encoder("deit", "image", image_size=224, patch_size=16),
    encoder("dinov2", "image", intermediate_size=LEFT_OUT, image_size=224, patch_size=14),
    encoder("dinov2/gated", "image", intermediate_size=LEFT_OUT, image_size=224, patch_size=14, use_swiglu_ffn=True),
    Family(
        "clip",
        "contrast",
        {"model_type": "clip", "text_config": {"num_hidden_layers": 4}, "vision_config": {"num_hidden_layers": 4}},
    ),
    Family(
        "siglip",
        "contrast",
        {"model_type": "siglip", "text_config": {"num_hidden_layers": 4}, "vision_config": {"num_hidden_layers": 4}},
    ),
    Family("t5", "seq2seq", {"model_type": "t5", **T5}, "q,v"),
    Family(
        "t5/gated",
        "seq2seq",
        {"model_type": "t5", **T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
        "q,v",
    ),
    Family("bart", "seq2seq", {"model_type": "bart", **SEQ2SEQ}),
    Family("mbart", "seq2seq", {"model_type": "mbart", **SEQ2SEQ, "scale_embedding": True}),
    Family("pegasus", "seq2seq", {"model_type": "pegasus", **SEQ2SEQ, "activation_function": "relu"}),
    Family("marian", "seq2seq", {"model_type": "marian", **SEQ2SEQ, "pad_token_id": 0, "decoder_start_token_id": 0}),
    Family(
        "mamba",
        "causal",
        {"model_type": "mamba", "vocab_size": 32000, "hidden_size": 1024, "num_hidden_layers": 4},
        "in_proj,out_proj",
    ),
    Family(
        "mamba2",
        "causal",
        {
            "model_type": "mamba2",
            "vocab_size": 32000,
            "hidden_size": 1024,
            "head_dim": 64,
            "num_heads": 32,
            "n_groups": 1,
            "num_hidden_layers": 4,
        },
        "in_proj,out_proj",
    ),
)

FAMILIES = DECODERS + OTHERS
