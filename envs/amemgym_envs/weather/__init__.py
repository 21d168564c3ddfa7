"""Questions about the weather, answered by calling tools."""
