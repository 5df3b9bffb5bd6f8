"""Documents as INCEpTION sends them, made by its own library (dkpro-cassis)."""

from __future__ import annotations

import cassis

from eigentext.studio.api.inception import PREDICTED, SENTENCE, TOKEN

NER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
POS = "de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS"
LEMMA = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Lemma"
FEATURE = {NER: "value", POS: "PosValue", LEMMA: "value"}


def type_system():
    types = cassis.TypeSystem()
    for name in (SENTENCE, TOKEN):
        types.create_type(name, supertypeName="uima.tcas.Annotation")
    for name, feature in FEATURE.items():
        kind = types.create_type(name, supertypeName="uima.tcas.Annotation")
        types.create_feature(kind, feature, "uima.cas.String")
        types.create_feature(kind, PREDICTED, "uima.cas.Boolean")
        types.create_feature(kind, f"{feature}_score", "uima.cas.Double")
    return types


def request_of(sentences, layer, made=(), *, key="document"):
    """A request with these sentences (lists of words) and annotations (begin, end, label)."""
    types = type_system()
    cas = cassis.Cas(typesystem=types)
    text, tokens, bounds = "", [], []
    for words in sentences:
        begin = len(text)
        for word in words:
            tokens.append((len(text), len(text) + len(word)))
            text += word + " "
        bounds.append((begin, len(text) - 1))
    cas.sofa_string = text
    cas.sofa_mime = "text/plain"
    for begin, end in bounds:
        cas.add(types.get_type(SENTENCE)(begin=begin, end=end))
    for begin, end in tokens:
        cas.add(types.get_type(TOKEN)(begin=begin, end=end))
    for first, last, label in made:
        fields = {"begin": tokens[first][0], "end": tokens[last - 1][1], FEATURE[layer]: label}
        cas.add(types.get_type(layer)(**fields))
    document = {"xmi": cas.to_xmi(), "documentId": 3, "userId": "me"}
    return {
        "metadata": {"layer": layer, "feature": FEATURE[layer], "projectId": 1},
        "typeSystem": types.to_xml(),
        key: [document] if key == "documents" else document,
    }


def answered(request, answer):
    """(covered text, label, predicted, score) of all annotations of the layer."""
    types = cassis.load_typesystem(request["typeSystem"])
    cas = cassis.load_cas_from_xmi(answer["document"], types)
    layer, feature = request["metadata"]["layer"], request["metadata"]["feature"]
    return [
        (
            cas.sofa_string[one.begin : one.end],
            getattr(one, feature),
            bool(getattr(one, PREDICTED)),
            getattr(one, f"{feature}_score"),
        )
        for one in cas.select(layer)
    ]
