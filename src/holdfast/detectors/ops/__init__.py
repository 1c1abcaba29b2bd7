"""Operations on boxes and features: IoU, NMS, RoIAlign, proposals, losses, GPU kernels."""
