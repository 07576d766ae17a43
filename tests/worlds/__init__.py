"""The expression rules of the engine's random worlds: compiled here, drawn from in Rust."""
