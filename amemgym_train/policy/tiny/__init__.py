"""The quickstart's own small model: a word-level tokenizer and a Llama, made on first use from the toolkit's texts."""
