# ruff: noqa: E501 - one row of words is one line, so that a table of them can be read
"""What injections do, in other languages: the words for each part of the act, from which the patterns are made.

One block a language: words that mean *ignore*, *earlier* and *instructions*; *do not tell* and *user*; *AI model*;
*show* and *system prompt*. Stems, so that endings do not matter. They are folded like the texts they are compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound.canonical import folded
from checkvalve.filters.inbound.phrases_above import ABOVE

WORLD: Final = r"""
[de latin]
ignore ignorier|vergiss|vergesst|missacht|überspring|übergeh|verwirf|befolgen? (?:sie )?(?:nicht|keine)|beachten? (?:sie )?(?:nicht|keine)
earlier vorherig|bisherig|obig|vorangegangen|vorangehend|früher|alle|vorig|ursprünglich|deine|ihre|bestehend
orders anweisung|instruktion|befehl|vorgabe|richtlinie|regeln|prompt|aufforderung|systemnachricht
untold (?:sag|erwähn|verrat|informier|erzähl|benachrichtig|unterricht)\w*(?: \w+){0,4} nicht|ohne (?:\w+ ){0,5}(?:zu (?:informier|sag|frag|benachrichtig)|es \w+ mitzuteilen)|nichts? (?:davon )?(?:sagen|mitteilen|erzählen)
user benutzer|nutzer|anwender|user\b
model ki-?(?:assistent|modell|agent|system|bot)|sprachmodell|künstliche intelligenz
show zeig|verrat|nenne|wiederhol|offenbar|gib
prompt system-?prompt|systemanweisung|versteckte anweisung|deine (?:ursprünglichen )?anweisung
[fr latin]
ignore ignor|oubli|néglig|ne (?:tiens|tenez) pas compte|fai(?:s|tes) abstraction|passez? outre|ne (?:suis|suivez) (?:pas|plus)
earlier précédent|antérieur|ci-dessus|initial|toutes|tes|vos|tous|préalable
orders instruction|consigne|directive|règle|ordre|prompt|indication
untold (?:ne |n'|n’)(?:\w+ ){0,2}(?:dis|dites|mentionn|inform|révél|parle|averti|préviens|signal)\w* (?:pas|rien|jamais)|sans (?:\w+ ){0,2}(?:en )?(?:inform|prévenir|averti|mentionn|le dire|demand)
user utilisateur|usager
model (?:assistant|agent|modèle|système) (?:d')?ia|modèle de langage|intelligence artificielle
show montre|affiche|révèle|répète|donne|imprime
prompt prompt (?:du )?système|invite système|instructions (?:initiales|cachées|système)|(?:tes|vos) instructions
[es latin]
ignore ignor[ae]|olvid|omit[ae]|descart|desestim|ha(?:z|ga) caso omiso|no (?:sigas|siga|obedezcas|hagas caso)
earlier anterior|previ[ao]s|arriba|todas|todos|inicial|precedent|tus|originales
orders instruccion|órdenes|indicacion|reglas|directri|mensaje del sistema|prompt
untold (?:no|nunca) (?:le |lo |se )?(?:\w+ )?(?:digas|diga|menciones|informes|informe|reveles|revele|avises|cuentes|notifiques)|sin (?:\w+ )?(?:informar|avisar|decir|notificar|preguntar)
user usuario|nadie
model (?:asistente|agente|modelo) (?:de )?ia|modelo de lenguaje|inteligencia artificial
show muestr|revel|repit|imprim|dime|enséñame
prompt prompt del sistema|mensaje del sistema|instrucciones (?:iniciales|ocultas|del sistema)|tus instrucciones
[pt latin]
ignore ignor[ae]|esque[cç]|desconsider|descart|não (?:siga|obedeça|sigas)
earlier anterior|prévi|acima|todas|todos|iniciais|suas|originais
orders instruç|ordens|regras|diretriz|comandos|orientaç|prompt
untold (?:não|nunca) (?:\w+ )?(?:diga|mencione|informe|revele|avise|conte|notifique)|sem (?:\w+ )?(?:informar|avisar|dizer|notificar|perguntar)
user usuário|utilizador|ninguém
model (?:assistente|agente|modelo) de ia|modelo de linguagem|inteligência artificial
show mostr|revel|repit|imprim|exib|diga
prompt prompt do sistema|instruções (?:iniciais|ocultas|do sistema)|suas instruções
[it latin]
ignore ignora|dimentica|trascura|tralascia|non (?:seguire|segua|tenere conto|rispettare)
earlier precedent|sopra|tutte|tutti|inizial|anterior|tue|tuoi|original
orders istruzion|ordini|regole|direttiv|indicazion|comandi|prompt
untold (?:non|mai) (?:\w+ )?(?:dire|dirlo|menzionare|informare|rivelare|avvisare|comunicare|notificare)|senza (?:\w+ )?(?:informar|avvisar|dir|notificar|chieder)
user utente|nessuno
model (?:assistente|agente|modello) (?:di )?(?:ia|ai)\b|modello linguistico|intelligenza artificiale
show mostra|rivela|ripeti|stampa|dimmi
prompt prompt di sistema|istruzioni (?:iniziali|nascoste|di sistema)|tue istruzioni
[nl latin]
ignore negeer|vergeet|sla ~{0,30}over|volg ~{0,30}niet|laat ~{0,30}buiten beschouwing
earlier vorige|eerdere|bovenstaande|voorgaande|alle|jouw|oorspronkelijke
orders instructie|opdracht|regels|aanwijzing|richtlijn|prompt|bevel
untold (?:vertel|noem|meld|zeg|informeer|onthul|waarschuw)\w*(?: \w+){0,4} (?:niet|niets)|zonder (?:\w+ ){0,4}te (?:informeren|vertellen|vragen|melden)
user gebruiker|niemand
model ai-?(?:assistent|agent|model)|taalmodel|kunstmatige intelligentie
show toon|onthul|herhaal|geef
prompt systeemprompt|systeeminstructie|verborgen instructie|je instructies
[pl latin]
ignore (?:z)?ignoruj|zapomnij|pomiń|nie (?:stosuj|przestrzegaj|zwracaj uwagi)|odrzuć
earlier poprzedni|wcześniejsz|powyższ|wszystk|dotychczasow|swoje|twoje
orders instrukcj|polece|zasad|wytyczn|reguł|nakaz|prompt
untold nie (?:\w+ )?(?:mów|wspominaj|informuj|ujawniaj|powiadamiaj|zdradzaj)|bez (?:\w+ )?(?:informowania|powiadamiania|pytania)
user użytkownik|nikomu
model asystent(?:\w+)? (?:ai|sztucznej)|model(?:\w+)? językow|sztuczn\w+ inteligencj
show pokaż|ujawnij|wyświetl|powtórz
prompt prompt systemow|systemow\w+ (?:prompt|instrukcj|polece)|ukryte instrukcj
[tr latin]
ignore yok ?say|unut(?:un|unuz)?\b|görmezden gel|dikkate alma|geçersiz kıl|uyma
earlier önceki|yukarıda|tüm|bütün|eski|mevcut|daha önce
orders talimat|komut|kural|yönerge|istem|emir
untold söyleme|bahsetme|bildirme|haber verme|açıklama yapma|bilgilendirme(?:yin|den)|sormadan
user kullanıcı|kimse
model yapay zek[aâ] (?:asistan|ajan|model)|dil modeli
show göster|açıkla|yazdır|tekrarla
prompt sistem (?:istem|talimat|komut|mesaj)|gizli talimat
[vi latin]
ignore bỏ qua|quên|phớt lờ|đừng (?:làm theo|tuân theo)|không (?:làm theo|tuân theo)
earlier trước|trên|tất cả|mọi|ban đầu|cũ
orders hướng dẫn|chỉ thị|lệnh|quy tắc|chỉ dẫn
untold (?:đừng|không|không được) (?:nói|tiết lộ|thông báo|đề cập|cho)|mà không (?:hỏi|báo|nói)
user người dùng
model trợ lý (?:ai|ảo)|mô hình ngôn ngữ|trí tuệ nhân tạo
show hiển thị|tiết lộ|in ra|lặp lại
prompt lời nhắc hệ thống|hướng dẫn hệ thống|chỉ thị hệ thống|prompt hệ thống
[id latin]
ignore abaikan|lupakan|jangan (?:ikuti|patuhi|hiraukan)|kesampingkan
earlier sebelumnya|di atas|semua|seluruh|awal|terdahulu
orders instruksi|perintah|aturan|arahan|petunjuk|pedoman
untold (?:jangan|tanpa) (?:\w+ )?(?:beri ?tahu|member ?itahu|sebutkan|ungkapkan|laporkan|katakan|menyebut|bertanya)
user pengguna|siapa pun
model asisten ai|agen ai|model bahasa|kecerdasan buatan
show tampilkan|ungkapkan|tunjukkan|cetak|ulangi
prompt prompt sistem|instruksi sistem|perintah sistem|instruksi tersembunyi
[sw latin]
ignore puuza|kupuuza|sahau|usifuate|achana na|usizingatie
earlier yaliyotangulia|ya awali|hapo juu|yote|iliyopita|yaliyopita|zote|za awali|zilizopita
orders maagizo|maelekezo|amri|sheria|kanuni
untold usimwambie|usitaje|bila kumwambia|usimjulishe
user mtumiaji
model msaidizi wa ai|akili bandia|modeli ya lugha
[sv latin]
ignore ignorera|glöm|bortse från|följ inte
earlier tidigare|ovanstående|föregående|alla|dina
orders instruktion|anvisning|regler|direktiv|prompt
untold (?:berätta|nämn|säg|informera|avslöja)(?: \w+){0,2} inte|utan att (?:berätta|informera|fråga|nämna)
user användaren
model ai-?(?:assistent|agent|modell)|språkmodell
[da latin]
ignore ignorer|glem|se bort fra|følg ikke
earlier tidligere|forrige|ovenstående|alle|foregående
orders instruks|instruktion|anvisning|regler|ordre
[fi latin]
ignore ohita|unohda|älä (?:noudata|välitä)|jätä ~{0,30}huomiotta
earlier aiem|edelli|yllä|kaikki|aikaisem
orders ohje|määräy|säänn|käsky|kehot
[ro latin]
ignore ignor[aă]|uit[aă]|nu (?:urma|respecta)|nesocot
earlier anterioar|precedent|de mai sus|toate
orders instrucțiun|reguli|comenz|ordine|directiv
[cs latin]
ignore ignoruj|zapome[nň]|zabudni|neřiď|nedbej
earlier předchozí|predchádzajúc|všechny|všetky|výše|dřívější
orders pokyn|instrukc|inštrukc|pravidl|příkaz
[hu latin]
ignore hagyd figyelmen kívül|felejtsd el|ne vedd figyelembe|mellőzd
earlier előző|korábbi|fenti|minden|összes
orders utasítás|szabály|parancs|irányelv
[tl latin]
ignore balewalain|huwag pansinin|kalimutan|huwag sundin
earlier naunang|nakaraang|lahat|nauna
orders tagubilin|panuto|utos|instruksyon
[hi-latn latin]
ignore ignore|bhool|bhul|nazar ?andaa?z|andekha
earlier pichh?l[aei]|pehle|purane|sabhi|saare|upar
orders nirdesh|aadesh|niyam|instructions
[ru cyrillic]
ignore игнорир|проигнорир|забудь|не обращай|не следуй|не выполняй|пренебреги|отмени
earlier предыдущ|прошл|все|выше|ранее|прежн|сво[ий]|исходн
orders инструкц|указани|команд|правил|промпт|директив|распоряжен
untold (?:не|никогда не) (?:говори|сообща|упомина|раскрыва|информир|уведомл|рассказыва)|без (?:уведомления|ведома|согласия)|не уведомляя|не спрашивая
user пользовател|никому
model ии-?(?:ассистент|агент|помощник|модел)|языков[^ ]* модел|искусственн[^ ]* интеллект
show покажи|выведи|раскрой|повтори|напечатай|сообщи
prompt системн[^ ]* (?:промпт|инструкц|сообщени|подсказк)|скрыт[^ ]* инструкц
[uk cyrillic]
ignore ігноруй|проігноруй|забудь|не зважай|не виконуй|знехтуй
earlier попередн|вище|всі|усі|раніше|сво[їі]
orders інструкц|вказівк|команд|правил|наказ|настанов
untold не (?:кажи|повідомля|згадуй|розкривай|розповідай)|без (?:відома|згоди)
user користувач|нікому
model ші-?(?:асистент|агент|помічник)|мовн[^ ]* модел|штучн[^ ]* інтелект
[bg cyrillic]
ignore игнорирай|забрави|пренебрегни|не следвай
earlier предишн|горн|всички|досегашн
orders инструкц|указани|правила|команди
[ar arabic]
ignore تجاهل|انس|تجاوز|لا تتبع|أهمل|تغاض
earlier السابق|أعلاه|جميع|كل|الأصلي|المذكور
orders تعليمات|أوامر|قواعد|إرشادات|توجيهات
untold لا (?:تخبر|تذكر|تكشف|تبلغ|تعلم)|دون (?:إخبار|إعلام|علم|إبلاغ)
user المستخدم|أحد
model مساعد (?:الذكاء|ذكاء)|نموذج (?:لغوي|اللغة)|الذكاء الاصطناعي
show اعرض|أظهر|اكشف|اطبع|كرر
prompt موجه النظام|تعليمات النظام|رسالة النظام
[fa arabic]
ignore نادیده بگیر|فراموش کن|پیروی نکن|بی ?توجه
earlier قبلی|پیشین|بالا|تمام|همه
orders دستور|قوانین|راهنما|فرمان
untold (?:نگو|اطلاع نده|فاش نکن|بدون اطلاع)
user کاربر
model هوش مصنوعی|مدل زبانی
[ur arabic]
ignore نظر ?انداز|بھول جا
earlier سابقہ|پچھل|تمام|اوپر|پہلے
orders ہدایات|احکامات|قواعد|ہدایت
[he hebrew]
ignore התעלם|תתעלם|התעלמו|שכח|תשכח|אל תציית|אל תמלא
earlier הקודמ|לעיל|כל|שקדמו|המקוריות
orders הוראות|הנחיות|כללים|פקודות|חוקים
untold אל (?:תספר|תגלה|תודיע|תזכיר)|בלי (?:לספר|להודיע|ליידע)|מבלי
user המשתמש|לאף אחד
model בינה מלאכותית|מודל שפה|עוזר ai
show הצג|חשוף|הדפס|גלה
prompt הוראות המערכת|הנחיית המערכת|פרומפט המערכת
[hi indic]
ignore अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल जा|उपेक्षा|मत मान|पालन न
earlier पिछले|पिछली|पूर्व|पहले|ऊपर|सभी|उपरोक्त
orders निर्देश|आदेश|नियम|प्रॉम्प्ट|हिदायत
untold (?:मत|न|नहीं) बता|सूचित न|उल्लेख न|बिना बता
user उपयोगकर्ता|यूज़र
model एआई|कृत्रिम बुद्धि|भाषा मॉडल
[bn indic]
ignore উপেক্ষা|অগ্রাহ্য|ভুলে যা|এড়িয়ে
earlier পূর্ববর্তী|আগের|উপরের|সমস্ত|সকল|পূর্বের
orders নির্দেশ|আদেশ|নিয়ম
untold (?:বলবেন|জানাবেন|বলো|জানিও) না
user ব্যবহারকারী
[ta indic]
ignore புறக்கணி|மறந்து
earlier முந்தைய|அனைத்து|மேலே|எல்லா
orders வழிமுறை|அறிவுறுத்தல|கட்டளை|விதி
[th thai]
ignore ละเว้น|เพิกเฉย|ไม่ต้องสนใจ|ลืม|มองข้าม|อย่าทำตาม|ไม่ต้องทำตาม
earlier ก่อนหน้า|ข้างต้น|ทั้งหมด|เดิม|ที่ผ่านมา
orders คำสั่ง|คำแนะนำ|กฎ|ข้อกำหนด
untold อย่าบอก|ห้ามบอก|ไม่ต้องแจ้ง|อย่าแจ้ง|โดยไม่บอก|ไม่ต้องบอก
user ผู้ใช้
model ปัญญาประดิษฐ์|โมเดลภาษา|ผู้ช่วย ?ai
[zh cjk]
ignore 忽略|无视|無視|忘记|忘掉|忘記|不要理会|不要理會|不理会|跳过|抛开|不要遵[守循从]|停止遵[守循]|绕过|覆盖|撇开
earlier 之前|以上|先前|所有|前面|上述|上面|此前|原有|原来|全部|一切|你的|系统|任何|現有|现有
orders 指令|指示|提示词|提示|规则|規則|命令|设定|設定|约束|限制|指引
untold (?:不要|别|勿|不得|无需|不必|切勿|不能)(?:告诉|告訴|告知|提及|透露|通知|让|向)
user 用户|用戶|使用者|任何人|他人
model ai ?(?:助手|代理|模型)|人工智能|智能助手|语言模型|大模型|智能体
show 显示|输出|打印|泄露|告诉我|重复|透露|列出|公开
prompt 系统提示|系統提示|系统指令|初始指令|隐藏指令|提示词
[ja cjk]
ignore 無視|忘れ|従わな|従うな|破棄|上書き
earlier 以前|上記|これまで|前の|先の|すべて|全て|元の|今まで
orders 指示|命令|プロンプト|ルール|規則|制約|指令
untold (?:伝え|教え|知らせ|言わ|言及し|報告し|通知し|明かさ)(?:ない|ず|るな|なく)
user ユーザ|利用者
model ai ?(?:アシスタント|エージェント|モデル)|言語モデル|人工知能
show 表示|出力|開示|教えて|明かし
prompt システムプロンプト|システム指示|隠された指示|初期指示
[ko cjk]
ignore 무시|잊어|잊고|따르지 ?(?:마|말|않)|무효
earlier 이전|위의|앞의|앞선|모든|기존|지금까지|상기
orders 지시|명령|프롬프트|규칙|지침|제약
untold (?:말하지|알리지|언급하지|공개하지|알려주지|보고하지|묻지) ?(?:마|말|않)
user 사용자|유저|아무에게
model ai ?(?:어시스턴트|비서|에이전트|모델)|인공지능|언어 ?모델
show 출력|보여|공개|알려
prompt 시스템 ?프롬프트|시스템 ?지시|숨겨진 ?지시
"""
"""Languages by code. Coverage by language is measured, and low where a text was translated by a machine."""

SCRIPTS: Final[dict[str, str]] = {
    "cyrillic": "\u0400-\u04ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc",
    "hebrew": "\u0590-\u05ff",
    "indic": "\u0900-\u0dff",
    "thai": "\u0e00-\u0e7f",
    "cjk": "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af",
}
"""The letters by which a script is known; its patterns are only tried where one is."""


def world(script: str) -> Iterator[tuple[str, int, str]]:
    """Yield family, weight and pattern for every language of ``script``."""
    for block in WORLD.strip().split("\n["):
        head, *lines = block.removeprefix("[").splitlines()
        language, its_script = head.removesuffix("]").split()
        if its_script == script:
            yield from _patterns(language, script, dict(line.split(" ", 1) for line in lines))


def _patterns(language: str, script: str, rows: dict[str, str]) -> Iterator[tuple[str, int, str]]:
    edge = r"\b" if script == "latin" else ""
    words = {name: f"{edge}(?:{folded(row)})" for name, row in rows.items()}
    ignore, earlier, orders = words["ignore"], words["earlier"], words["orders"]
    both = f"(?:{earlier}~{{0,25}}{orders}|{orders}~{{0,20}}{earlier})"
    yield f"override-{language}", 3, f"{ignore}~{{0,45}}{both}|{both}~{{0,40}}{ignore}"
    if language in ABOVE:
        above = f"{edge}(?:{folded(ABOVE[language])})"
        yield f"override-{language}", 3, f"{ignore}~{{0,12}}{above}|{above} ?{ignore}"
    if "untold" in words:
        yield (
            f"secrecy-{language}",
            2,
            f"{words['untold']}~{{0,40}}{words['user']}|{words['user']}~{{0,25}}{words['untold']}",
        )
    if "model" in words:
        yield f"address-{language}", 1, words["model"]
    if "show" in words:
        yield (
            f"prompt-leak-{language}",
            3,
            f"{words['show']}~{{0,30}}{words['prompt']}|{words['prompt']}~{{0,15}}{words['show']}",
        )
