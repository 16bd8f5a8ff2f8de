"""Files for this user alone: JSON lines, and what is masked before anything leaves the process."""
