"""The gates of tools/check: one module each, with NAME and findings(root)."""
