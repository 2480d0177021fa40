# ruff: noqa: E501 - one row of words is one line, so that a table of them can be read
"""What injections tell a model to set aside, in other languages: all that stands above, whatever it is.

One line a language: words for *the above*, *everything so far*, *the text above*. None is a word for one thing above
("the error above may be ignored" is ordinary). They are folded like the texts they are compared with.
"""

from __future__ import annotations

from typing import Final

ABOVE: Final = {
    line.split(" ", 1)[0]: line.split(" ", 1)[1]
    for line in r"""
de alles (?:obige|oben(?:stehende)?|vorherige|bisherige|vorangegangene)\b|den (?:text|inhalt) oben|den obigen (?:text|inhalt)|was oben steht
fr (?:tout )?ce qui précède|tout ce qui est (?:ci-dessus|au-dessus)|le (?:texte|contenu) (?:ci-dessus|précédent|qui précède)
es (?:todo )?lo (?:anterior|de arriba)\b|el (?:texto|contenido) (?:anterior|de arriba)
pt tudo (?:o que (?:está|foi dito) )?(?:acima|anterior)|o (?:texto|conteúdo) (?:acima|anterior)|o que (?:está|foi dito) acima
it (?:tutto )?quanto sopra|tutto ciò che precede|ciò che precede|il (?:testo|contenuto) (?:sopra|precedente)
nl (?:al )?het bovenstaande\b|alles hierboven|de bovenstaande (?:tekst|inhoud)
pl (?:wszystko|to),? (?:co )?powyżej|powyższ\w+ (?:tekst|treść)
tr yukarıdakileri|yukarıdaki her şeyi|yukarıdaki (?:metni|içeriği)
vi (?:nội dung|những điều|mọi thứ|mọi điều|văn bản) (?:ở trên|bên trên|phía trên|trước đó)|những điều trên
id (?:hal|yang|semua(?:nya)?|segala sesuatu) (?:yang )?di atas|(?:konten|teks|isi) (?:di atas|sebelumnya)
sv allt (?:det )?ovan(?:stående)?|det ovanstående\b|texten ovan
tl (?:lahat ng )?(?:nasa|sa) itaas|(?:nilalaman|teksto) sa itaas
ru вышесказанное|вышеизложенное|вс[её],? что (?:было )?(?:написано |сказано )?выше|(?:текст|содержание|контент) выше
uk вищесказане|вищевикладене|усе,? що (?:було )?(?:написано |сказано )?вище|текст вище
ar (?:كل )?ما (?:سبق|ورد أعلاه|ذكر أعلاه)|(?:النص|المحتوى) (?:أعلاه|السابق)
fa (?:متن|محتوای|مطالب) (?:بالا|قبلی)|همه موارد بالا
he (?:כל )?האמור לעיל|כל מה שנאמר|(?:הטקסט|התוכן) (?:שלמעלה|הקודם|לעיל)
hi उपरोक्त (?:को|सभी|सामग्री|पाठ|सब)|ऊपर (?:दिए गए|लिखे|लिखी|की सभी) ?(?:सामग्री|पाठ|सब|बातों)?
bn (?:উপরের|উপরোক্ত) (?:সবকিছু|সব|লেখা|বিষয়বস্তু)
th (?:ข้อความ|เนื้อหา|ทั้งหมด|สิ่งที่กล่าวมา)(?:ข้างต้น|ด้านบน)
zh (?:以上|上述|上面|前面|之前)的?(?:所有|全部)?(?:内容|文字|文本|一切)|以上(?:所有|全部)|上文
ja (?:上記|以上|これまで)(?:の(?:内容|文章?|すべて|全て))?(?:を|は)(?:すべて|全て)?
ko 위(?:의|에 있는)? ?(?:모든 )?(?:내용|글|텍스트|것)(?:을|를|은)?|앞의 (?:내용|글)(?:을|를|은)?
""".strip().splitlines()
}
