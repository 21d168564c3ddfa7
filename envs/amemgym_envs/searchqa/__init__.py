"""SearchQA: questions over a corpus of articles that is searched."""
