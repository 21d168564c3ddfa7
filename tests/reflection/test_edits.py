"""A rewritten prompt is whole, or nothing is changed."""

import json
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amemgym_train.agents.templates import TYPES, load_prompts, write_prompts
from amemgym_train.reflection.edits import REFUSALS, Bounds, Edit, Refused, edited, types_of
from amemgym_train.reflection.leaks import Secrets

NONE = Secrets([])
LIMIT = 6000
PROMPTS = load_prompts("fewshot", "info_type")
PARTS = ["{conversation}", "{types}", "{notes}", "{", "}", "{{x}}", '"', "\\", "---", "\n", "\n---\n", "\r\n", "猫", "\ud800"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)


def rewrite(reply, target="write", name="write", **options):
    return edited(target, name, PROMPTS[name], reply, Bounds(**{"max_chars": LIMIT, "secrets": NONE} | options))


def refused(reply, target="write", **options):
    with pytest.raises(Refused) as error:
        rewrite(reply, target, **options)
    assert error.value.kind in REFUSALS and str(error.value)
    return error.value.kind


REPLIES = st.text() | TEXTS | TEXTS.map(lambda text: json.dumps({"new_prompt": text}))


@given(reply=REPLIES, target=st.sampled_from(["write", "types"]))
@example(reply=json.dumps({"new_prompt": PROMPTS["write"].text}), target="write")
@example(reply=json.dumps({"new_types": "- {conversation}\n---\n- x"}), target="types")
def test_any_reply_gives_a_prompt_that_can_be_saved_and_filled_or_changes_nothing(tmp_path_factory, reply, target):
    try:
        edit = rewrite(reply, target)
    except Refused as refusal:
        assert refusal.kind in REFUSALS
        return
    check(edit, tmp_path_factory.mktemp("prompts"))


@given(instruction=TEXTS, examples=st.lists(TEXTS, max_size=4), rest=TEXTS)
def test_a_rewritten_prompt_survives_saving_whatever_it_holds(tmp_path_factory, instruction, examples, rest):
    body = "Topics to save: {types}\n\n{conversation}" + rest
    reply = json.dumps({"new_prompt": "\n---\n".join([instruction, *examples, body]), "changes": ["all of it"]})
    try:
        edit = rewrite(reply)
    except Refused as refusal:
        assert refusal.kind in {"shape", "fields", "unreadable"}  # a part too many, a field twice, half a character
        return
    assert edit.changes == ("all of it",)
    check(edit, tmp_path_factory.mktemp("prompts"))


@given(types=TEXTS)
def test_types_are_put_where_they_stood_and_nothing_else_changes(types):
    before = PROMPTS["write"]
    try:
        after = rewrite(json.dumps({"new_types": types}), "types").prompt
    except Refused:
        return
    assert types_of(after) == types.replace("\r\n", "\n").strip()
    assert after.instruction.partition(TYPES)[0] == before.instruction.partition(TYPES)[0]
    assert (after.examples, after.body) == (before.examples, before.body)


def check(edit, folder):
    assert edit.prompt != PROMPTS["write"] and edit.prompt.marks == PROMPTS["write"].marks
    write_prompts(folder, {"write": edit.prompt})
    assert load_prompts(str(folder))["write"] == edit.prompt
    content = edit.prompt.messages(conversation="<told>", notes="<noted>", types="<asked>")[-1]["content"]
    assert content.count("<told>") == 1 and content.count("<asked>") == 1


def test_replies_that_change_nothing_are_told_apart():
    whole = PROMPTS["write"].text
    assert refused("I would rather write an essay.") == "unreadable"
    for reply in ("", '{"new_prompt": 7}', '["new_prompt"]', '{"new_types": "- x"}', '{"new_prompt": "  "}'):
        assert refused(reply) == "unreadable"
    assert refused(json.dumps({"new_prompt": whole.replace("{conversation}", "")})) == "fields"
    assert refused(json.dumps({"new_prompt": whole.replace("{types}", "")})) == "fields"
    assert refused(json.dumps({"new_prompt": whole + "\n\n{conversation}"})) == "fields"
    assert refused(json.dumps({"new_prompt": "Just remember everything."})) == "shape"
    assert refused(json.dumps({"new_prompt": f"\n---\n{PROMPTS['write'].body}"})) == "shape"
    assert refused(json.dumps({"new_prompt": "a\n---\nb\n---\n" + PROMPTS["write"].body})) == "shape"
    assert refused(json.dumps({"new_prompt": whole})) == "same"
    assert refused(json.dumps({"new_prompt": "x" * LIMIT + whole})) == "long"
    assert refused("x" * 100_000) == "unreadable" and refused("{" * 500_000) == "long"
    assert refused(json.dumps({"new_prompt": whole + "x" * 100_000})) == "long"
    assert refused(json.dumps({"new_types": "- a\n---\n- b"}), target="types") == "shape"
    assert refused(json.dumps({"new_prompt": f"Now. {whole}"}), fits=lambda prompt: False) == "long"


def test_the_line_above_the_types_cannot_be_lost_and_may_be_the_last():
    lost = PROMPTS["write"].text.replace(TYPES, "Remember these:")
    assert refused(json.dumps({"new_prompt": lost})) == "shape"
    bare = replace(PROMPTS["write"], instruction=f"Take notes.\n{TYPES}")
    new = edited("types", "write", bare, json.dumps({"new_types": "- all"}), Bounds(LIMIT, NONE)).prompt
    assert new.instruction == f"Take notes.\n{TYPES}\n- all" and types_of(bare) == "" and types_of(new) == "- all"


def test_a_reply_in_a_fence_and_with_odd_changes_is_read():
    text = json.dumps({"new_prompt": PROMPTS["write"].text.replace("You keep", "Keep"), "changes": "shorter"})
    edit = rewrite(f"Here it is:\n```json\n{text}\n```")
    assert edit.prompt.instruction.startswith("Keep notes") and edit.changes == ("shorter",)
    odd = json.dumps({"new_prompt": PROMPTS["write"].text + " now", "changes": {"a": 1}})
    assert isinstance(rewrite(odd), Edit) and rewrite(odd).changes == ()


def test_a_prompt_that_gives_a_users_values_away_is_refused_or_flagged(users):
    one = next(iter(users.values()))
    value, first = next(iter(one.periods[0].state.values())), one.user_profile["name"].split()[0]
    for secret in (value, value.upper(), first):
        reply = json.dumps({"new_prompt": f"Remember ({secret}). {PROMPTS['write'].text}"})
        assert refused(reply, secrets=Secrets(users.values())) == "leak"
        edit = rewrite(reply, secrets=Secrets(users.values()), reject_leaks=False)
        assert edit.leaks == (secret.casefold(),)
