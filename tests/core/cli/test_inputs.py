"""Sentences of files that a command was given."""

from eigentext.cli.inputs import TextInput

ROW = "{}\t{}\t_\tX\t_\t_\t{}\tdep\t_\t_\n"


def test_words_of_conllu_are_tokens_and_its_columns_are_not(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("# text = to be\n" + ROW.format(1, "to", 2) + ROW.format(2, "be", 0) + "\n")
    assert list(TextInput().sentences([str(path)])) == [["to", "be"]]


def test_empty_lines_of_text_stay(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("to be\n\nor\n")
    assert list(TextInput().sentences([str(path)])) == [["to", "be"], [], ["or"]]


def test_raw_text_as_typed_and_as_a_model_goes_by_it(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text('"I can’t," he said.\u200b “No!”\n')
    found = [
        token
        for tokens in TextInput(raw=True, tokeniser="ud-en").typed([str(path)])
        for token in tokens
    ]
    assert "".join(token.typed for token in found) == "".join(path.read_text().split())
    assert [token.text for token in found][:6] == ["``", "I", "ca", "n't", ",", "''"]
    sentences = TextInput(raw=True, tokeniser="ud-en").sentences([str(path)])
    texts = [token for tokens in sentences for token in tokens]
    assert texts == [token.text for token in found]
    (plain,) = TextInput().typed([str(path)])
    assert [token.typed for token in plain] == path.read_text().split()
