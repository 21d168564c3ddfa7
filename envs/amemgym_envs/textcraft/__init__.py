"""TextCraft: fetch what is not crafted, craft the rest, until the goal is made."""
