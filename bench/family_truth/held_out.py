"""Models of other sizes, batches and lengths, run after the families' operations were written: nothing was corrected
with them beside it."""

from __future__ import annotations

from .families import Config, Family
from .steps import Row, rows_of

TEXT: Config = {"vocab_size": 30522, "max_position_embeddings": 512}
SEQ2SEQ: Config = {
    "d_model": 1024,
    "encoder_layers": 12,
    "decoder_layers": 12,
    "encoder_attention_heads": 16,
    "decoder_attention_heads": 16,
    "encoder_ffn_dim": 4096,
    "decoder_ffn_dim": 4096,
    "max_position_embeddings": 1024,
}
SMALL_SEQ2SEQ: Config = {
    "d_model": 512,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "decoder_start_token_id": 0,
    "activation_function": "swish",
}


def sizes(hidden: int, layers: int, heads: int, inner: int) -> Config:
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
    }


def family(name: str, kind: str, config: Config, adapted: str = "q_proj,v_proj") -> Family:
    return Family(name, kind, {"model_type": name, **config}, adapted)


HELD_OUT = (
    family("electra", "masked", {**TEXT, "embedding_size": 128, **sizes(256, 12, 4, 1024)}, "query,value"),
    family(
        "albert",
        "masked",
        {**TEXT, "vocab_size": 30000, "embedding_size": 128, **sizes(1024, 24, 16, 4096)},
        "query,value",
    ),
    family(
        "deberta-v2",
        "masked",
        {
            **TEXT,
            "vocab_size": 128100,
            **sizes(768, 12, 12, 3072),
            "relative_attention": True,
            "position_buckets": 256,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": "p2c|c2p",
            "position_biased_input": False,
            "type_vocab_size": 0,
        },
        "query_proj,value_proj",
    ),
    family(
        "modernbert",
        "masked",
        {"vocab_size": 50368, "max_position_embeddings": 8192, **sizes(1024, 10, 16, 2624)},
        "Wqkv",
    ),
    family(
        "siglip",
        "contrast",
        {
            "text_config": {"hidden_size": 768, "num_hidden_layers": 12},
            "vision_config": {"hidden_size": 768, "num_hidden_layers": 12, "image_size": 256, "patch_size": 16},
        },
    ),
    family("bart", "seq2seq", {"vocab_size": 50265, **SEQ2SEQ}),
    family("mbart", "seq2seq", {"vocab_size": 50000, **SEQ2SEQ}),
    family("marian", "seq2seq", {"vocab_size": 58101, **SMALL_SEQ2SEQ}),
    family(
        "gptj",
        "causal",
        {"vocab_size": 50400, "n_embd": 2048, "n_layer": 6, "n_head": 16, "rotary_dim": 64, "n_positions": 2048},
    ),
    family(
        "codegen",
        "causal",
        {"vocab_size": 51200, "n_embd": 1024, "n_layer": 20, "n_head": 16, "rotary_dim": 32, "n_positions": 2048},
        "qkv_proj",
    ),
    family(
        "hunyuan_v1_dense",
        "causal",
        {
            "vocab_size": 120818,
            **sizes(1024, 12, 16, 3584),
            "num_key_value_heads": 8,
            "head_dim": 128,
            "tie_word_embeddings": True,
        },
    ),
    family(
        "mixtral",
        "causal",
        {
            "vocab_size": 32000,
            **sizes(1536, 6, 24, 2048),
            "num_key_value_heads": 8,
            "num_local_experts": 4,
            "num_experts_per_tok": 1,
            "sliding_window": None,
        },
    ),
    family(
        "qwen3_moe",
        "causal",
        {
            "vocab_size": 60000,
            **sizes(2048, 3, 32, 6144),
            "num_key_value_heads": 4,
            "head_dim": 128,
            "num_experts": 64,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 768,
            "norm_topk_prob": True,
        },
    ),
    family(
        "qwen2_moe",
        "causal",
        {
            "vocab_size": 60000,
            **sizes(2048, 3, 16, 5632),
            "num_key_value_heads": 16,
            "num_experts": 30,
            "num_experts_per_tok": 4,
            "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632,
        },
    ),
)
LENGTHS = {"1024": "704", "512": "384", "256": "192"}


def held_out_rows(one: Family) -> list[Row]:
    """The same ways as of the others, with a mask of ones (or, of pairs of towers, all)."""
    rows = []
    for row in rows_of(one):
        if one.kind == "contrast":
            row["batch"] = "40"
        else:
            row["batch"] = "2" if one.kind == "causal" else "8"
            row["seq"] = LENGTHS.get(row["seq"], row["seq"])
        if one.kind == "seq2seq":
            row["tgt_seq"] = "96"
        if row["attention_mask"] == "ones":
            rows.append(row)
    return rows
