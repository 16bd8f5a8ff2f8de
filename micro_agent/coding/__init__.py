"""What a coding agent may touch of a user's machine: the files of one repository."""
