"""UDPipe's REST, asked as its clients ask: forms of all kinds, and refusals in plain text."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from email.message import EmailMessage
from email.policy import HTTP
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.base.modelfile import read_header
from eigentext.datasets.sample import sample_files
from eigentext.errors import SettingsError
from eigentext.language.formats.conllu import parse_sentences
from eigentext.studio.api.udpipe import fields_of
from helpers.commands import eigentext
from helpers.toy_treebank import toy_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.testclient import TestClient

TEXT = "Ana va al mar. Luis viene\tdel parque.\n\nEl puerto corre."
ALL = {"tokenizer": "", "tagger": "", "parser": ""}


@pytest.fixture(scope="module")
def service(connect: Callable[..., TestClient], pipe_models: tuple[str, str]) -> TestClient:
    return connect(pipes=pipe_models, max_pipe_characters=200_000)


def result(client: TestClient, **fields: str) -> str:
    answer = client.post("/process", data=fields)
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"model", "acknowledgements", "result"}
    return str(answer.json()["result"])


def refused(client: TestClient, status: int = 400, **fields: str) -> str:
    answer = client.post("/process", data=fields)
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.text.endswith("\n")
    return answer.text


def test_models_are_listed_with_what_they_can(service: TestClient) -> None:
    for answer in (service.get("/models"), service.post("/models")):
        assert answer.status_code == 200
        assert answer.json() == {
            "models": {
                "spanish-toy": ["tokenizer", "tagger", "parser"],
                "spanish-short": ["tokenizer", "tagger"],
            },
            "default_model": "spanish-toy",
        }


def test_all_stages_give_what_the_library_gives(service: TestClient) -> None:
    answer = service.post("/process", data={"data": TEXT, **ALL}).json()
    assert answer["model"] == "spanish-toy"
    assert answer["acknowledgements"] == ["https://toy.org"]
    assert answer["result"] == toy_pipeline()(TEXT).to_conllu()


@pytest.mark.parametrize("way", ["get", "form", "multipart", "file", "bare flags"])
def test_every_way_to_ask_is_the_same(way: str, service: TestClient) -> None:
    fields = {"data": TEXT, "model": "spanish-toy", **ALL}
    if way == "get":
        answer = service.get("/process", params=fields)
    elif way == "form":
        answer = service.post("/process", data=fields)
    elif way == "multipart":
        answer = service.post("/process", files={n: (None, v) for n, v in fields.items()})
    elif way == "file":  # curl -F data=@file
        rest = {n: v for n, v in fields.items() if n != "data"}
        upload = {"data": ("text.txt", TEXT.encode(), "text/plain")}
        answer = service.post("/process", data=rest, files=upload)
    else:
        query = "tokenizer&tagger&parser&model=spanish-toy&" + urllib.parse.urlencode(
            {"data": TEXT}
        )
        answer = service.get(f"/process?{query}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"] == toy_pipeline()(TEXT).to_conllu()


def test_the_reference_client_over_a_socket(serve: Any, pipe_models: tuple[str, str]) -> None:
    """As ``udpipe2_client.py`` builds its request: parts with their own types, a large one."""
    data = TEXT.replace("\t", " ") + "\n\n"
    data *= 1500  # about 90,000 characters
    message = EmailMessage(policy=HTTP)
    message["Content-Type"] = 'multipart/form-data; boundary="the-boundary-of-parts"'
    parts = []
    for name, value in {"data": data, "model": "es", **ALL}.items():
        parts += [
            b"--the-boundary-of-parts\r\n",
            f'Content-Disposition: form-data; name="{name}"\r\n'.encode(),
            b"Content-Type: text/plain; charset=utf-8\r\n\r\n",
            value.encode() + b"\r\n",
        ]
    body = b"".join([*parts, b"--the-boundary-of-parts--\r\n"])
    with serve(pipes=pipe_models) as address:
        asked = urllib.request.Request(
            f"{address}/process", body, {"Content-Type": message["Content-Type"]}
        )
        with urllib.request.urlopen(asked) as answer:
            assert answer.headers["Content-Type"] == "application/json"
            found = json.load(answer)
        sentences = list(parse_sentences(found["result"]))
        assert len(sentences) == 4500
        assert found["result"] == toy_pipeline()(data).to_conllu()
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{address}/process?data=x&model=klingon&tokenizer")
        assert caught.value.code == 400
        assert caught.value.read() == b"Requested model 'klingon' does not exist.\n"


def test_only_what_is_asked_for_is_filled(service: TestClient) -> None:
    def columns(**asked: str) -> dict[str, set[bool]]:
        words = [
            word
            for sentence in parse_sentences(result(service, data=TEXT, **asked))
            for word in sentence.words
        ]
        names = ("lemma", "upos", "feats", "deprel")
        return {n: {getattr(word, n) != "_" for word in words} for n in names}

    assert set().union(*columns(tokenizer="").values()) == {False}
    tagged = columns(tokenizer="", tagger="")
    assert tagged["upos"] == tagged["lemma"] == {True}
    assert tagged["deprel"] == {False}
    parsed = columns(tokenizer="", parser="")
    assert parsed["upos"] == parsed["lemma"] == {False}
    assert parsed["deprel"] == {True}
    whole = toy_pipeline()(TEXT)
    heads = [word.head for word in whole.words]
    found = parse_sentences(result(service, data=TEXT, tokenizer="", parser=""))
    assert [word.head for sentence in found for word in sentence.words] == heads


def test_ranges_and_spaces(service: TestClient) -> None:
    found = result(service, data=TEXT, tokenizer="ranges")
    tokens = [line.split("\t") for line in found.splitlines() if line[:1].isdigit()]
    for row in tokens:
        if "TokenRange=" in row[9]:
            place = row[9].partition("TokenRange=")[2].split("|")[0]
            start, end = map(int, place.split(":"))
            assert TEXT[start:end] == row[1]
    assert sum("TokenRange=" in row[9] for row in tokens) == 14
    assert "SpacesAfter=" in found
    plain = result(service, data=TEXT, tokenizer="normalized_spaces")
    assert "SpacesAfter=" not in plain
    assert "SpaceAfter=No" in plain


def test_sentences_may_be_given(service: TestClient) -> None:
    data = "Ana va\nal mar. Luis viene\n"
    found = list(parse_sentences(result(service, data=data, tokenizer="presegmented")))
    assert [sentence.text for sentence in found] == ["Ana va", "al mar. Luis viene"]


def test_conllu_horizontal_and_vertical_come_in(service: TestClient) -> None:
    both = {"tagger": "", "parser": ""}
    words = ["Ana", "va", "a", "el", "mar", "."]
    by_line = result(service, data=" ".join(words) + "\n\nEva corre\n", input="horizontal", **both)
    by_word = result(service, data="\n".join(words) + "\n\nEva\nx", input="vertical", **both)
    for found in (by_line, by_word):
        first, second = parse_sentences(found)
        assert list(first.forms) == words
        assert first.heads == (2, 0, 5, 5, 2, 2)
        assert not first.ranges
        assert len(second) == 2
    # without a stage the words come back as they are; a blank inside a word is a no-break space
    spaced = result(service, data="New\u00a0York va", input="horizontal", output="vertical")
    assert spaced == "New York\nva\n\n"
    back = result(service, data="New York\t_\nva", input="vertical", output="horizontal")
    assert back == "New\u00a0York va\n"
    gold = toy_pipeline()("Ana va al mar.").to_conllu()
    assert result(service, data=gold) == gold
    retagged = gold.replace("PROPN", "X")
    assert result(service, data=retagged, tagger="") == gold
    kept = result(service, data=retagged, parser="")
    assert "\tX\t" in kept
    assert "Ana va al mar." in kept


def test_outputs(service: TestClient) -> None:
    def out(kind: str, **more: str) -> str:
        return result(service, data=TEXT, tokenizer="", output=kind, **more)

    assert out("plaintext") == TEXT
    lines = "Ana va al mar.\nLuis viene del parque.\n"
    assert out("plaintext=normalized_spaces") == f"{lines}\nEl puerto corre.\n"
    across = "Ana va a el mar .\nLuis viene de el parque .\n"
    assert out("horizontal") == across + "El puerto corre .\n"
    assert out("horizontal=paragraphs") == across + "\nEl puerto corre .\n"
    assert out("vertical").startswith("Ana\nva\na\nel\nmar\n.\n\nLuis\n")
    assert out("vertical").endswith(".\n\nEl\npuerto\ncorre\n.\n\n")
    assert out("vertical=paragraphs").endswith(".\n\n\nEl\npuerto\ncorre\n.\n\n")
    assert out("conllu") == out("conllu=v2")


@pytest.mark.parametrize(
    ("asked", "used"),
    [
        ("", "spanish-toy"),
        ("spanish-short", "spanish-short"),
        ("spanish", "spanish-toy"),
        ("spanish-s", "spanish-short"),
        ("es", "spanish-toy"),
    ],
)
def test_models_are_chosen_by_name_beginning_and_language(
    asked: str, used: str, service: TestClient
) -> None:
    answer = service.post("/process", data={"data": "Ana va.", "model": asked, "tokenizer": ""})
    assert answer.json()["model"] == used


def trained(folder: Path, treebanks: str, *flags: str) -> Path:
    """A pipeline, made by the command line, of copies of the sample with these names."""
    for name in treebanks.split():
        (folder / name).write_bytes(sample_files()["treebank-dev.conllu"])
    stages = "morphology,parser,reranker"
    line = f"pipe train {treebanks} --without {stages} -o own.pipe --quiet"
    result = eigentext(*line.split(), *flags, cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder / "own.pipe"


@pytest.mark.parametrize(
    ("treebanks", "flags", "language"),
    [
        ("gl_treegal-ud-train.conllu", (), "gl"),
        ("gl_treegal-ud-train.conllu gl_ctg-ud-train.conllu", (), "gl"),
        ("gl_treegal-ud-train.conllu pt_gsd-ud-train.conllu", (), None),
        ("gl_treegal.conllu", (), None),
        ("my.conllu", ("--language", "gl"), "gl"),
        ("gl_treegal-ud-train.conllu", ("--language", "pt-BR"), "pt-BR"),
        ("gl_treegal-ud-train.conllu", ("--language", ""), None),
    ],
)
def test_one_s_own_model_has_a_language(
    treebanks: str, flags: tuple[str, ...], language: str | None, tmp_path: Path
) -> None:
    model = trained(tmp_path, treebanks, *flags)
    assert read_header(model).data.get("language") == language
    told = eigentext("pipe", "inspect", model.name, cwd=tmp_path).stdout.decode()
    assert ("language" in told, language is None or language in told) == (bool(language), True)


def test_one_s_own_model_is_found_by_its_language(
    connect: Callable[..., TestClient], pipe_models: tuple[str, str], tmp_path: Path
) -> None:
    model = trained(tmp_path, "gl_treegal-ud-train.conllu")
    glossary = tmp_path / "glossary.pipe"  # begins like the code, and has another language
    glossary.write_bytes(Path(pipe_models[0]).read_bytes())
    service = connect(pipes=(*pipe_models, str(glossary), str(model)))
    answer = service.post("/process", data={"data": "Bo día.", "model": "gl", "tokenizer": ""})
    assert answer.json()["model"] == "own"


def test_a_language_is_a_code(tmp_path: Path) -> None:
    (tmp_path / "t.conllu").write_bytes(sample_files()["treebank-dev.conllu"])
    for code in ("Galician", "g", "gl_ES", "gl "):
        line = ["pipe", "train", "t.conllu", "-o", "m", "--language", code]
        result = eigentext(*line, cwd=tmp_path)
        assert result.returncode == 2
        assert b"expected a code such as gl" in result.stderr
        assert not (tmp_path / "m").exists()


def test_nothing_in_nothing_out(service: TestClient) -> None:
    for data in ("", " \n\n "):
        assert result(service, data=data, **ALL) == ""
        assert result(service, data=data) == ""
        assert result(service, data=data, input="vertical", tagger="") == ""
        assert result(service, data=data, tokenizer="", output="plaintext") == data


def test_refusals(service: TestClient) -> None:
    assert refused(service, tokenizer="") == "Required argument 'data' is missing.\n"
    assert refused(service, data="x", model="klingon") == (
        "Requested model 'klingon' does not exist.\n"
    )
    assert "no parser" in refused(service, data="x", model="spanish-short", **ALL)
    assert "Unknown input format 'poem'" in refused(service, data="x", input="poem")
    assert "Unknown output format 'poem'" in refused(service, data="x", output="poem", **ALL)
    bad = refused(service, data="1\tonly\ttwo\n\n", tagger="")
    assert bad.startswith("Cannot read the data as conllu at line 1: ")
    assert "200,001 characters" in refused(service, 413, data="x" * 200_001, **ALL)
    answer = service.post("/process", content=b"{}", headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.text) == (
        400,
        "Content-Type application/json, expected a form\n",
    )
    assert service.put("/process").status_code == 405


def test_a_service_without_pipelines_says_so(connect: Callable[..., TestClient]) -> None:
    client = connect()
    assert client.get("/models").json() == {"models": {}, "default_model": ""}
    assert "eigentext serve --pipe" in refused(client, 404, data="x", tokenizer="")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"--x\r\n\r\nHi\r\n--x--"),  # no boundary
        ("multipart/form-data; boundary=x", b"no parts at all"),
        ("multipart/form-data; boundary=x", b"--x\r\nX-Nothing: 1\r\n\r\nHi\r\n--x--\r\n"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="data"\r\n\r\n\xff\xfe\r\n--x--\r\n',
        ),
        ("application/x-www-form-urlencoded", b"data=%ff%fe"),
        ("application/x-www-form-urlencoded", b"data=\xc3\xa9"),
        ("text/plain", b"Hi"),
    ],
)
def test_forms_that_cannot_be_read(kind: str, body: bytes, service: TestClient) -> None:
    with pytest.raises(SettingsError):
        fields_of(b"", kind, body)
    answer = service.post("/process?tokenizer", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 400
    assert answer.headers["Content-Type"].startswith("text/plain")


@given(st.dictionaries(st.sampled_from(["data", "model", "input"]), st.text(max_size=40)))
def test_forms_bring_every_text_as_it_is(fields: dict[str, str]) -> None:
    fields = {n: v.encode("utf-8", "ignore").decode() for n, v in fields.items()}
    encoded = urllib.parse.urlencode(fields).encode()
    assert fields_of(encoded, "", b"") == fields
    assert fields_of(b"", "application/x-www-form-urlencoded; charset=utf-8", encoded) == fields
    if fields:
        parts = b"".join(
            f'--b0undary\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n'.encode()
            for n, v in fields.items()
        )
        form = parts + b"--b0undary--\r\n"
        assert fields_of(b"model=x", "multipart/form-data; boundary=b0undary", form) == {
            "model": "x",
            **fields,
        }


ODD = (
    "# newdoc\n# newpar\n# sent_id = 1\n# text = a\"<&>' b é\n"
    "1\ta\"<&>'\tl\tX\tY\tA=1|B=2\t2\tx\t_\t_\n2\tb\tb\\t\tX\tY\t_\t0\troot\t_\t_\n"
    "3\té\t_\tX\tY\t_\t2\tdep\t_\t_\n\n"
)


@pytest.mark.requires("ufal.udpipe")
@pytest.mark.parametrize(
    "output",
    [
        "conllu",
        "horizontal",
        "horizontal=paragraphs",
        "vertical",
        "vertical=paragraphs",
        "plaintext",
        "plaintext=normalized_spaces",
        "matxin",
        "epe",
    ],
)
def test_outputs_are_those_of_udpipe_itself(output: str, service: TestClient) -> None:
    from ufal import udpipe

    def converted(conllu: str) -> str:
        reader = udpipe.InputFormat.newInputFormat("conllu")
        writer = udpipe.OutputFormat.newOutputFormat(output)
        reader.setText(conllu)
        sentence, error, written = udpipe.Sentence(), udpipe.ProcessingError(), ""
        while reader.nextSentence(sentence, error):
            written += writer.writeSentence(sentence)
            sentence = udpipe.Sentence()
        assert not error.occurred(), error.message
        return str(written + writer.finishDocument())

    text = "  Ana va al mar. Luis viene\tdel  parque.\n\nEl puerto corre.\n\n"
    for asked in (ALL, {"tokenizer": "", "tagger": ""}, {"tokenizer": ""}):
        conllu = result(service, data=text, **asked)
        assert result(service, data=text, output=output, **asked) == converted(conllu)
    if not output.startswith("plaintext"):  # of which the last blank is another
        assert result(service, data=ODD, output=output) == converted(ODD)
    assert result(service, data="", output=output) == converted("")


def test_a_deep_tree_is_written(service: TestClient) -> None:
    n = 3000
    rows = (f"{k}\tw\t_\t_\t_\t_\t{k - 1}\tdep\t_\t_\n" for k in range(1, n + 1))
    found = result(service, data="".join(rows) + "\n", output="matxin")
    assert found.count("<NODE ") == n
