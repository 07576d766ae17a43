"""One scheduler, the same load again and again, and what stays of it in memory."""
