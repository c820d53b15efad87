"""The sum of two f32 tensors, rounded."""
