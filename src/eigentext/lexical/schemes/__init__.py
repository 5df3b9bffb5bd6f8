"""What a label is made of: scheme files by language, their rules, and labels.

The schemes that ship are the JSON files of this folder.
"""
