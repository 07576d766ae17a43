"""The policy language: text in, a program or diagnostics out. Pure; see ARCHITECTURE.md."""
