"""The study of the fused kernel: contenders, checks, times and memory."""
