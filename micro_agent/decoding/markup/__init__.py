"""What dialects with markup share: what stands between the tags, and how it becomes a decision."""
