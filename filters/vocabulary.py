"""Small plain word lists that reading the user's words needs. They can only make a decision stricter.

None of them comes from, or looks at, any corpus: they are closed classes of ordinary language.
"""

from __future__ import annotations

from typing import Final


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS: Final = _set(
    "not never no none dont doesn cannot without except avoid exclude excluding neither nor nobody stop ignore skip "
    "forbid block instead rather barring besides excepting nicht nichts kein keine keinen nie niemals ohne außer "
    "ausser statt anstatt ne pas rien aucun aucune personne nada nadie ningún ninguna niente nessuno "
    "jamais sans sauf hormis excepté nunca jamás sin excepto salvo non mai senza tranne eccetto exceto ausgenommen "
    "behalve utom oprócz кроме не никогда 不 别 勿 莫 非 禁 止 未 除"
)
UNDOING: Final = _set(
    "cancel stop undo forget block abort revoke lass bleiben vergiss storniere abbrechen laisse tombe annule oublie "
    "olvídalo déjalo cancela anula 算 取"
)
"""Before the verb of an effect these mean the opposite of asking for it: "cancel my order to *pay*"."""
SOURCE_MARKERS: Final = _set("from by von de da du 从 由")
DESTINATION_MARKERS: Final = _set("to for with at into in onto on cc bcc an für mit à pour avec a para con 给 到 向")
REPLY: Final = _set("reply replies respond answer antworte antworten antwort répondre réponds responder responde 回")
TRANSFERS: Final = _set(
    "send post write forward share publish submit upload give transfer wire move copy put save mail email"
)
"""Verbs whose direct object is usually the thing, not the person, once a destination follows: "send *it* to Ann"."""
DETERMINERS: Final = _set(
    "the my our your his her their its this that these those a an der die das den dem le la les el los las"
)
QUANTIFIERS: Final = _set(
    "all every everyone everybody each both any anyone them they those these whom same others him her us there "
    "alle allen jeden jedem tous toutes todos todas 所 大 每 他 她"
)
"""Words that stand for people or places without naming them."""
LINKING: Final = _set("the a an my our their named called id number no nr with to of in for is")
"""Words that may stand between a noun and the name it marks: "the file *with id* 13"."""
RECORD_NOUNS: Final = _set("id number no nr invoice order ticket case room step page item version account iban card")
"""Nouns that are followed by the number of a record, so that the number is no amount."""
KEEPING: Final = _set("keep leave retain preserve spare behalte lass garde laisse conserva deja guarda 留")
"""Verbs that ask for nothing to happen: "delete a.txt and *keep* b.txt"."""
READING: Final = _set(
    "read open visit check view browse fetch look summarize summarise review analyse analyze study watch see compare "
    "lies öffne lis lee abre ouvre résume 读 看"
)
"""Verbs whose object is only looked at: "*read* a.txt and save the summary in b.txt"."""
ACTING: Final = _set(
    "delete remove erase send mail forward reply share move copy rename archive pay transfer refund post publish "
    "upload write save create add append insert update change set cancel invite book schedule order tell notify remind "
    "unsubscribe block flag "
    "lösche sende schicke teile verschiebe kopiere zahle speichere supprime envoie partage déplace copie paie "
    "enregistre borra elimina envía comparte mueve copia paga guarda"
)
"""Common verbs of orders: behind "and" or a comma the next order begins with one."""
FINITE: Final = _set(
    "is are was were has have had does did must should shall will would can cannot could may might left "
    "ist war hat hatte muss soll sollte darf wird est était doit está debe"
)
"""Right behind a name these begin a statement about it: "..., Bob *has* left the company"."""
PRONOUNS: Final = _set("her him them it there each both ihr ihm ihnen lui leur elle eux ella ellos 他 她 它")
"""Words that point at somebody who was named before: "send it to *her*"."""
RECORD_TYPES: Final = (
    _set("file document attachment"), _set("mail email message letter"), _set("event meeting appointment"),
    _set("transaction payment transfer order"), _set("invoice bill"), _set("page"), _set("ticket issue case"),
    _set("user member contact person"), _set("row record entry"), _set("task todo"), _set("deal"), _set("room"),
)  # fmt: skip
"""Words for one type of record each: "event with id 13" is no file 13."""
ADDRESS_NOUNS: Final = _set("email mail address account iban recipient payee phone number contact handle adresse konto")
"""Nouns that introduce an address: "her e-mail *address* is ...", "the *recipient* is ..."."""
CURRENCIES: Final = _set(
    "eur euro euros usd dollar dollars gbp pound pounds chf francs yen jpy cny yuan rmb sek nok dkk pln inr 元 块"
)
AFTER_SUMS: Final = _set(
    "to for from into onto by via with as per each and or now today please back i we you he she they that "
    "als an für pro und zu von à pour par et "
    "a para por y 给 到 和"
)
"""What follows a sum that has no currency; any other word says what is counted: "300 *cards*"."""
BEFORE_OTHERS: Final = _set(
    "on at in since until till before after street str road avenue room no nr am um im bis seit"
)
"""Before a number these say when or where, not how much."""
QUESTION_WORDS: Final = _set(
    "did do does is are am was were has have had what when where who whom why how which whose "
    "ist sind hat habe haben war was wann wo wer warum wie welche wessen "
    "qui quoi que quand où pourquoi comment quel quelle combien est quién quien qué cuándo dónde cómo cuál cuánto por "
    "谁 什"
)
POINTING: Final = _set("same again yes yep ok okay proceed confirm confirmed ja nochmal dasselbe oui sí 好 是")
"""With one of these a message points back at what was said before it."""
THINGS: Final = _set("it them they that this these those him her there both es sie ihn ihr le la les lo los 它 他 她")
"""Behind a verb these point back: "send *it* to Ann"; "thanks, that's *it*" does not."""

STOPWORDS: Final = _set(
    """
    a about after all also an and any are as at be before best both but by can could day did do does each file for
    from get give go good have he her here him his how i if in into is it its just last let list like look make me
    more my name new next no not now of off on one only open or other our out over please read said same see send she
    so some tell than that the their them then there these they this time to today two up us use user was we week well
    what when where which who will with work would year yes you your general random private public main home office
    team help info test admin support data account money email mail message
    """
)
"""Words so common that saying them proves nothing: "in general" does not name the channel called general."""

FILE_ENDINGS: Final = _set(
    "txt md doc docx xls xlsx ppt pptx pdf csv json yaml yml xml html htm py js ts sh zip gz tar png jpg jpeg gif svg "
    "ics eml log rs go rb pl so app mov mp3 mp4 zip7 sql ini cfg toml lock bak tmp rtf odt ods"
)
"""What follows the dot in a file name; such a word is no host."""

_MONTH_NAMES: Final = "january february march april may june july august september october november december"
MONTHS: Final = tuple(_MONTH_NAMES.split())
