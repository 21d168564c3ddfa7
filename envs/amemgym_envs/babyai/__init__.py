"""BabyAI's grid worlds as text: forty levels of minigrid, played by macro actions as in AgentGym."""
