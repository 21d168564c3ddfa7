"""Who a generated user is: a profile with the public keys, none of which tells a tracked value."""

from random import Random
from typing import Any

from amemgym_envs.amemgym.templates import Wording


def persona(user_id: str, words: Wording, rng: Random) -> dict[str, Any]:
    lists = words.personas
    gender = rng.choice(["female", "male"])
    profile: dict[str, Any] = {
        "uuid": user_id,
        "name": f"{rng.choice(lists[gender])} {rng.choice(lists['surnames'])}",
        "age": rng.randint(22, 66),
        "gender": gender,
        "marital_status": rng.choice(lists["marital_status"]),
        "education_level": rng.choice(lists["education_level"]),
        "occupation": rng.choice(lists["occupations"]),
        "hobbies_and_interests": ", ".join(rng.sample(lists["interests"], 3)),
        "skills_and_expertise": ", ".join(rng.sample(lists["skills"], 3)),
    }
    profile["complementary_info"] = f"{profile['name']} likes to talk things over before deciding."
    profile["formatted_str"] = "\n".join(f"{key}: {value}" for key, value in profile.items() if key != "uuid")
    return profile
