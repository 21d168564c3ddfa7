"""Data files of users, as the command line makes and checks them."""

GENERATE_FLAGS = {  # flag: the key of the generator that it sets
    "preset": "preset",
    "users": "num_users",
    "seed": "seed",
    "offset": "user_offset",
    "variables": "num_variables",
    "periods": "num_periods",
    "questions": "num_questions",
    "changes": "num_changes_per_period",
    "lang": "language",
    "difficulty": "difficulty",
    "tokens": "target_tokens",
    "personas": "personas",
}
