"""The shadow policy: a second engine whose decisions are compared and never carried out."""
