"""What is set aside or put right before a text is read: thoughts, special tokens, odd spellings of markup."""
