"""A proxy in front of any model server: what a reply lacks is mended, what is good goes through byte for byte."""
