import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym_train.agents.parsing import parse_object
from amemgym_train.agents.templates import FIELDS, FOLDER, SETS, STARTS, TYPES, Prompt, load_prompts, parse_prompt, write_prompts
from amemgym_train.errors import UserError


def test_every_default_instruction_is_short_and_has_one_readable_example():
    assert set(load_prompts()) == set(FIELDS)
    for operation, prompt in load_prompts().items():
        assert len(prompt.instruction.split()) <= 50, operation
        if operation == "act":  # whose layout is the recipe's choice, and shown by {layout}
            continue
        assert prompt.instruction.count("Example") == 1, operation
        if operation != "respond":
            reply = prompt.instruction.partition("Reply: ")[2]
            assert parse_object(reply)[1] == "strict", operation


def test_worked_examples_are_turns_of_their_own_with_strict_replies():
    for operation, prompt in load_prompts("fewshot").items():
        messages = prompt.messages(**dict.fromkeys(("conversation", "notes", "blanks", "question", "facts"), "x"))
        roles = [message["role"] for message in messages]
        assert roles == ["system", *("user", "assistant") * (len(roles) // 2 - 1), "user"] and len(roles) >= 4, operation
        if operation != "respond":
            assert all(parse_object(reply["content"])[1] == "strict" for reply in messages[2::2]), operation


def test_no_example_gives_away_a_value_of_the_generator():
    from amemgym_envs.amemgym.languages import wording

    texts = {str(file): file.read_text() for folder in SETS.values() for file in folder.glob("*.txt")}
    lacks = {"default": 0, "fewshot": 1, "short": 3, "bare": len(FIELDS) - 1}
    assert len(texts) == sum(len(FIELDS) - lacks[name] for name in SETS)
    starts = {str(file): file.read_text() for file in (FOLDER / "start").rglob("*.txt")}
    wanted = {(start, f"{name}.txt") for start in STARTS.values() for name in ("write", "facts")}
    assert {Path(file).parts[-2:] for file in starts} == wanted
    texts |= starts
    assert wording().variables
    for variable in wording().variables:
        for word in (variable.name, *variable.values):
            assert not [name for name, text in texts.items() if word in text], word


def test_what_a_group_shares_comes_before_the_memory():
    content = load_prompts()["write"].messages(conversation="User: hello", notes="pet: cat", types="")[1]["content"]
    assert 0 <= content.index("User: hello") < content.index("pet: cat")


def test_a_block_whose_fields_are_empty_is_left_out():
    answer = load_prompts()["answer"]
    full = answer.messages(conversation="User: hi", notes="pet: cat", question="Q?")[1]["content"]
    assert full.count("\n\n") == 2
    bare = answer.messages(conversation="", notes="", question="Q?")
    assert bare[1] == {"role": "user", "content": "Question:\nQ?"}
    assert bare[0] == {"role": "system", "content": answer.instruction}
    both = Prompt("Do it.", "Hello\n\n{notes} and {conversation}")
    assert both.messages(notes="", conversation="here")[1]["content"] == "Hello\n\n and here"
    assert both.messages(notes="", conversation="")[1]["content"] == "Hello"


def test_a_value_is_put_in_as_it_is():
    tricky = "{notes} \\1 {conversation}\n\n{other}"
    content = load_prompts()["write"].messages(conversation=tricky, notes="pet: cat", types="")[1]["content"]
    assert content == f"New messages:\n{tricky}\n\nCurrent notes:\npet: cat"


def test_a_folder_replaces_some_prompts_and_keeps_the_others(tmp_path):
    (tmp_path / "write.txt").write_text('Take notes: {"a": "b"}.\n---\n{conversation}\n\n{notes}\n')
    prompts = load_prompts(str(tmp_path))
    assert prompts["write"].instruction == 'Take notes: {"a": "b"}.'
    others = set(FIELDS) - {"write"}
    assert {name: prompts[name] for name in others} == {name: load_prompts()[name] for name in others}


def test_the_short_prompts_stay_short_and_end_with_what_is_asked():
    filled = {name: name.upper() for name in ("conversation", "notes", "keys", "question")}
    assert set(load_prompts("short")) == {"respond", "write", "read", "answer"}  # a word more, and the model would be another
    for operation, prompt in load_prompts("short").items():
        system, user = (message["content"] for message in prompt.messages(**filled))
        assert len(system.split()) == 1 and not prompt.examples
        asked = {"read": "KEYS", "answer": "QUESTION"}.get(operation, "CONVERSATION")
        assert user.endswith(asked), operation
        assert set(user.split()) <= set(filled.values()), operation
        assert ("NOTES" in user) == (operation != "write"), operation


@pytest.mark.parametrize("operation", FIELDS)
def test_a_missing_field_is_named_with_its_file(tmp_path, operation):
    for names in FIELDS[operation]:
        name = names.split("|")[0]
        body = " ".join(["Body", *(f"{{{other.split('|')[0]}}}" for other in FIELDS[operation] if other != names)])
        (tmp_path / f"{operation}.txt").write_text(f"Instruction with {{{name}}}.\n---\n{body}\n")
        with pytest.raises(UserError, match=rf"{operation}\.txt lacks the field \{{{name}\}}"):
            load_prompts(str(tmp_path))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "holds no prompt file; expected default or fewshot or short or bare, or a folder"),
        ({"writes.txt": b"a\n---\n{conversation} {notes}"}, "writes.txt is no prompt; expected respond.txt, write.txt"),
        ({"write.txt": b"{conversation} {notes}"}, "write.txt has no line '---'"),
        ({"write.txt": b"a\n---\nexample\n---\n{conversation} {notes}"}, "an example needs two, message and reply"),
        ({"write.txt": b"\xff\xfe\x00"}, "write.txt is not UTF-8"),
    ],
)
def test_a_broken_folder_is_a_user_error(tmp_path, files, message):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        load_prompts(str(tmp_path))


def test_an_absent_folder_is_a_user_error(tmp_path):
    with pytest.raises(UserError, match="holds no prompt file"):
        load_prompts(str(tmp_path / "none"))


def test_fields_of_the_default_files_are_all_of_them():
    for operation, names in FIELDS.items():
        plain = [name.split("|")[0] for name in names]
        optional = {"write": ["types"], "act": ["instruction", "layout"]}.get(operation, [])
        text = (FOLDER / f"{operation}.txt").read_text()
        assert all(f"{{{name}}}" in text for name in plain)
        values = {name: json.dumps(name) for name in [*plain, *optional, "notes"]}
        filled = load_prompts()[operation].messages(**values)[1]["content"]
        assert all(json.dumps(name) in filled for name in [*plain, *optional])
        assert "{" not in filled


PIECES = ["{", "}", "{{", "{notes}", "{x}", '"', "'", "\\", "---", "\n", "\n---\n", "\r\n", " ", "\x0b", "a", "猫", "%s"]
TRICKY = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


@given(instruction=TRICKY | st.text(), examples=st.lists(TRICKY, max_size=4), rest=TRICKY | st.text())
def test_what_is_parsed_is_written_and_parsed_again_without_loss(tmp_path_factory, instruction, examples, rest):
    text = "\n---\n".join([instruction, *examples, "{conversation}" + rest])
    try:
        prompt = parse_prompt("write", text, "here")
    except UserError:
        return  # an odd number of parts, or the field above the last line
    assert parse_prompt("write", prompt.text, "here") == prompt
    if "\ud800" <= max(prompt.text) <= "\udfff":
        return  # half a character, which no file holds
    folder = tmp_path_factory.mktemp("prompts")
    write_prompts(folder, {"write": prompt})
    assert load_prompts(str(folder))["write"] == prompt


@pytest.mark.parametrize("folder", SETS)
def test_every_set_is_the_same_after_it_was_written(tmp_path, folder):
    prompts = load_prompts(folder)
    write_prompts(tmp_path, prompts)
    assert {name: load_prompts(str(tmp_path))[name] for name in prompts} == prompts


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("folder", SETS)
def test_a_start_changes_the_instructions_of_the_memory_update_alone(folder, start):
    before, after = load_prompts(folder), load_prompts(folder, start)
    assert {name for name in before if before[name] != after[name]} == {"write", "facts"} & set(before)
    for name in before:
        assert (before[name].examples, before[name].body) == (after[name].examples, after[name].body)
    if "write" in after:
        assert (TYPES in after["write"].instruction.splitlines()) == (STARTS[start] == "info_type")
    assert load_prompts(folder, "default") == before
