// Sentences to start with, written for this page.
export const examples = {
  trees: [
    ["A relative clause", `(S (NP-SBJ (NP (DT The) (NN gardener)) (SBAR (WHNP-1 (WP who)) (S (NP-SBJ (-NONE- *T*-1)) (VP (VBD planted) (NP (DT this) (NN tree))))))
   (VP (VBZ waters) (NP (PRP it)) (NP-TMP (DT every) (NN morning))) (. .))`],
    ["Where does the phrase attach?", `(S (NP (PRP She)) (VP (VBD drew) (NP (NP (DT the) (NN owl)) (PP (IN with) (NP (DT a) (NN pencil))))))
(S (NP (PRP She)) (VP (VBD drew) (NP (DT the) (NN owl)) (PP (IN with) (NP (DT a) (NN pencil)))))`],
    ["A question", "(SBARQ (WHNP (WP What)) (SQ (VBZ does) (NP (DT the) (NN map)) (VP (VB show))) (. ?))"],
    ["Arabic", "(S (VP (VBD قرأت) (NP (DTNN المعلمة)) (NP (NN قصة) (ADJP (JJ قصيرة)))) (PUNC .))"],
    ["Chinese", "(IP (NP (NN 老师)) (VP (ADVP (AD 每天)) (VP (VV 读) (NP (NN 报纸)))) (PU 。))"],
  ],
  text: [
    ["English", "Dr. Low can't come before 5 p.m. today. \"Why not?\" she asked (twice)."],
    ["Arabic", "ذهب الولد إلى المدرسة. هل قرأ الكتاب؟"],
    ["Mixed scripts", "The word 図書館 means “library”. 🙂 Naïve cafés, 3.14 and user@example.org stay whole."],
  ],
  pipe: [
    ["English", "The teacher saw the boy with the telescope. He couldn't sleep, so he wrote to her.\n\nShe didn't answer."],
    ["French", "Le boulanger va au marché. Il parle des pommes du jardin."],
    ["Hungarian", "A macska az ablakban alszik. Tegnap két könyvet olvastam."],
    ["Turkish", "Çocuk bahçede oynuyor. Dün iki kitap okudum."],
  ],
  parse: [
    ["English", "The teacher saw the boy with the telescope. He slept."],
    ["A relative clause", "The man who sold the boat bought a horse."],
    ["Spanish", "El perro duerme en la casa. Vamos al mar."],
    ["Arabic", "قرأ الطالب الكتاب الجديد. ذهب المعلم إلى المدرسة بالسيارة."],
  ],
  read: [
    ["A letter", "كتب الولد رسالة إلى أمه. قرأت الأم الرسالة في البيت، وكتبت الجواب."],
    ["At school", "قرأ الطالب الكتاب الجديد. ذهب المعلم إلى المدرسة بالسيارة."],
    ["With a name", "وصلت زنمارية إلى المدينة، وقرأت كتابها في الحديقة."],
  ],
  convert: [
    ["A tree", "(S (NP (DT The) (NN gardener)) (VP (VBZ waters) (NP (DT the) (NN tree))) (. .))"],
  ],
};
