"""The same arithmetic, faster: fused layers, folded batch norm, stem layouts, rematerialisation."""
