"""The output head: f32 logits from a bf16 weight."""
