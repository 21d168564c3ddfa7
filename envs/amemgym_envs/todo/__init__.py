"""Questions and requests about a to-do account, answered and done by calling tools."""
