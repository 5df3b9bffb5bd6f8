"""Sentences of files that a command was given."""

from eigentext.cli.text_input import sentences

ROW = "{}\t{}\t_\tX\t_\t_\t{}\tdep\t_\t_\n"


def test_words_of_conllu_are_tokens_and_its_columns_are_not(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("# text = to be\n" + ROW.format(1, "to", 2) + ROW.format(2, "be", 0) + "\n")
    assert list(sentences([str(path)], raw=False, tokeniser="ptb")) == [["to", "be"]]


def test_empty_lines_of_text_stay(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("to be\n\nor\n")
    assert list(sentences([str(path)], raw=False, tokeniser="ptb")) == [["to", "be"], [], ["or"]]
