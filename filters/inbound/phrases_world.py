"""What injections do, in other languages: the words for each part of the act, from which the patterns are made.

One row a language: words that mean *ignore*, *earlier* and *instructions*; *do not tell* and *user*; *AI model*; *show*
and *system prompt*. Stems, so that endings do not matter. The rows are folded like the texts they are compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from checkvalve.filters.inbound.canonical import folded


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language, each a row of alternatives. An empty row leaves its pattern out."""

    script: str
    ignore: str
    earlier: str
    orders: str
    untold: str = ""
    user: str = ""
    model: str = ""
    show: str = ""
    prompt: str = ""

    def patterns(self, language: str) -> Iterator[tuple[str, int, str]]:
        """Yield family, weight and pattern."""
        edge = r"\b" if self.script == "latin" else ""
        ignore, earlier, orders = (f"{edge}(?:{_words(row)})" for row in (self.ignore, self.earlier, self.orders))
        both = f"(?:{earlier}~{{0,25}}{orders}|{orders}~{{0,20}}{earlier})"
        yield f"override-{language}", 3, f"{ignore}~{{0,45}}{both}|{both}~{{0,40}}{ignore}"
        if self.untold:
            untold, user = (f"{edge}(?:{_words(row)})" for row in (self.untold, self.user))
            yield f"secrecy-{language}", 2, f"{untold}~{{0,40}}{user}|{user}~{{0,25}}{untold}"
        if self.model:
            yield f"address-{language}", 1, f"{edge}(?:{_words(self.model)})"
        if self.show:
            show, prompt = (f"{edge}(?:{_words(row)})" for row in (self.show, self.prompt))
            yield f"prompt-leak-{language}", 3, f"{show}~{{0,30}}{prompt}|{prompt}~{{0,15}}{show}"


def _words(row: str) -> str:
    return folded(row)


WORLD: Final[dict[str, Words]] = {
    "de": Words(
        "latin",
        "ignorier|vergiss|vergesst|missacht|überspring|übergeh|verwirf|befolgen? (?:sie )?(?:nicht|keine)|beachten? (?:sie )?(?:nicht|keine)",
        "vorherig|bisherig|obig|vorangegangen|vorangehend|früher|alle|vorig|ursprünglich|deine|ihre|bestehend",
        "anweisung|instruktion|befehl|vorgabe|richtlinie|regeln|prompt|aufforderung|systemnachricht",
        "(?:sag|erwähn|verrat|informier|erzähl|benachrichtig|unterricht)\\w*(?: \\w+){0,4} nicht|ohne (?:\\w+ ){0,5}(?:zu (?:informier|sag|frag|benachrichtig)|es \\w+ mitzuteilen)|nichts? (?:davon )?(?:sagen|mitteilen|erzählen)",
        "benutzer|nutzer|anwender|user\\b",
        "ki-?(?:assistent|modell|agent|system|bot)|sprachmodell|künstliche intelligenz",
        "zeig|verrat|nenne|wiederhol|offenbar|gib",
        "system-?prompt|systemanweisung|versteckte anweisung|deine (?:ursprünglichen )?anweisung",
    ),
    "fr": Words(
        "latin",
        "ignor|oubli|néglig|ne (?:tiens|tenez) pas compte|fai(?:s|tes) abstraction|passez? outre|ne (?:suis|suivez) (?:pas|plus)",
        "précédent|antérieur|ci-dessus|initial|toutes|tes|vos|tous|préalable",
        "instruction|consigne|directive|règle|ordre|prompt|indication",
        "(?:ne |n'|n’)(?:\\w+ ){0,2}(?:dis|dites|mentionn|inform|révél|parle|averti|préviens|signal)\\w* (?:pas|rien|jamais)|sans (?:\\w+ ){0,2}(?:en )?(?:inform|prévenir|averti|mentionn|le dire|demand)",
        "utilisateur|usager",
        "(?:assistant|agent|modèle|système) (?:d')?ia|modèle de langage|intelligence artificielle",
        "montre|affiche|révèle|répète|donne|imprime",
        "prompt (?:du )?système|invite système|instructions (?:initiales|cachées|système)|(?:tes|vos) instructions",
    ),
    "es": Words(
        "latin",
        "ignor[ae]|olvid|omit[ae]|descart|desestim|ha(?:z|ga) caso omiso|no (?:sigas|siga|obedezcas|hagas caso)",
        "anterior|previ[ao]s|arriba|todas|todos|inicial|precedent|tus|originales",
        "instruccion|órdenes|indicacion|reglas|directri|mensaje del sistema|prompt",
        "(?:no|nunca) (?:le |lo |se )?(?:\\w+ )?(?:digas|diga|menciones|informes|informe|reveles|revele|avises|cuentes|notifiques)|sin (?:\\w+ )?(?:informar|avisar|decir|notificar|preguntar)",
        "usuario|nadie",
        "(?:asistente|agente|modelo) (?:de )?ia|modelo de lenguaje|inteligencia artificial",
        "muestr|revel|repit|imprim|dime|enséñame",
        "prompt del sistema|mensaje del sistema|instrucciones (?:iniciales|ocultas|del sistema)|tus instrucciones",
    ),
    "pt": Words(
        "latin",
        "ignor[ae]|esque[cç]|desconsider|descart|não (?:siga|obedeça|sigas)",
        "anterior|prévi|acima|todas|todos|iniciais|suas|originais",
        "instruç|ordens|regras|diretriz|comandos|orientaç|prompt",
        "(?:não|nunca) (?:\\w+ )?(?:diga|mencione|informe|revele|avise|conte|notifique)|sem (?:\\w+ )?(?:informar|avisar|dizer|notificar|perguntar)",
        "usuário|utilizador|ninguém",
        "(?:assistente|agente|modelo) de ia|modelo de linguagem|inteligência artificial",
        "mostr|revel|repit|imprim|exib|diga",
        "prompt do sistema|instruções (?:iniciais|ocultas|do sistema)|suas instruções",
    ),
    "it": Words(
        "latin",
        "ignora|dimentica|trascura|tralascia|non (?:seguire|segua|tenere conto|rispettare)",
        "precedent|sopra|tutte|tutti|inizial|anterior|tue|tuoi|original",
        "istruzion|ordini|regole|direttiv|indicazion|comandi|prompt",
        "(?:non|mai) (?:\\w+ )?(?:dire|dirlo|menzionare|informare|rivelare|avvisare|comunicare|notificare)|senza (?:\\w+ )?(?:informar|avvisar|dir|notificar|chieder)",
        "utente|nessuno",
        "(?:assistente|agente|modello) (?:di )?(?:ia|ai)\\b|modello linguistico|intelligenza artificiale",
        "mostra|rivela|ripeti|stampa|dimmi",
        "prompt di sistema|istruzioni (?:iniziali|nascoste|di sistema)|tue istruzioni",
    ),
    "nl": Words(
        "latin",
        "negeer|vergeet|sla ~{0,30}over|volg ~{0,30}niet|laat ~{0,30}buiten beschouwing",
        "vorige|eerdere|bovenstaande|voorgaande|alle|jouw|oorspronkelijke",
        "instructie|opdracht|regels|aanwijzing|richtlijn|prompt|bevel",
        "(?:vertel|noem|meld|zeg|informeer|onthul|waarschuw)\\w*(?: \\w+){0,4} (?:niet|niets)|zonder (?:\\w+ ){0,4}te (?:informeren|vertellen|vragen|melden)",
        "gebruiker|niemand",
        "ai-?(?:assistent|agent|model)|taalmodel|kunstmatige intelligentie",
        "toon|onthul|herhaal|geef",
        "systeemprompt|systeeminstructie|verborgen instructie|je instructies",
    ),
    "pl": Words(
        "latin",
        "(?:z)?ignoruj|zapomnij|pomiń|nie (?:stosuj|przestrzegaj|zwracaj uwagi)|odrzuć",
        "poprzedni|wcześniejsz|powyższ|wszystk|dotychczasow|swoje|twoje",
        "instrukcj|polece|zasad|wytyczn|reguł|nakaz|prompt",
        "nie (?:\\w+ )?(?:mów|wspominaj|informuj|ujawniaj|powiadamiaj|zdradzaj)|bez (?:\\w+ )?(?:informowania|powiadamiania|pytania)",
        "użytkownik|nikomu",
        "asystent(?:\\w+)? (?:ai|sztucznej)|model(?:\\w+)? językow|sztuczn\\w+ inteligencj",
        "pokaż|ujawnij|wyświetl|powtórz",
        "prompt systemow|systemow\\w+ (?:prompt|instrukcj|polece)|ukryte instrukcj",
    ),
    "tr": Words(
        "latin",
        "yok ?say|unut|görmezden gel|dikkate alma|geçersiz kıl|uyma",
        "önceki|yukarıda|tüm|bütün|eski|mevcut|daha önce",
        "talimat|komut|kural|yönerge|istem|emir",
        "söyleme|bahsetme|bildirme|haber verme|açıklama yapma|bilgilendirme(?:yin|den)|sormadan",
        "kullanıcı|kimse",
        "yapay zek[aâ] (?:asistan|ajan|model)|dil modeli",
        "göster|açıkla|yazdır|tekrarla",
        "sistem (?:istem|talimat|komut|mesaj)|gizli talimat",
    ),
    "vi": Words(
        "latin",
        "bỏ qua|quên|phớt lờ|đừng (?:làm theo|tuân theo)|không (?:làm theo|tuân theo)",
        "trước|trên|tất cả|mọi|ban đầu|cũ",
        "hướng dẫn|chỉ thị|lệnh|quy tắc|chỉ dẫn",
        "(?:đừng|không|không được) (?:nói|tiết lộ|thông báo|đề cập|cho)|mà không (?:hỏi|báo|nói)",
        "người dùng",
        "trợ lý (?:ai|ảo)|mô hình ngôn ngữ|trí tuệ nhân tạo",
        "hiển thị|tiết lộ|in ra|lặp lại",
        "lời nhắc hệ thống|hướng dẫn hệ thống|chỉ thị hệ thống|prompt hệ thống",
    ),
    "id": Words(
        "latin",
        "abaikan|lupakan|jangan (?:ikuti|patuhi|hiraukan)|kesampingkan",
        "sebelumnya|di atas|semua|seluruh|awal|terdahulu",
        "instruksi|perintah|aturan|arahan|petunjuk|pedoman",
        "(?:jangan|tanpa) (?:\\w+ )?(?:beri ?tahu|member ?itahu|sebutkan|ungkapkan|laporkan|katakan|menyebut|bertanya)",
        "pengguna|siapa pun",
        "asisten ai|agen ai|model bahasa|kecerdasan buatan",
        "tampilkan|ungkapkan|tunjukkan|cetak|ulangi",
        "prompt sistem|instruksi sistem|perintah sistem|instruksi tersembunyi",
    ),
    "sw": Words(
        "latin",
        "puuza|kupuuza|sahau|usifuate|achana na|usizingatie",
        "yaliyotangulia|ya awali|hapo juu|yote|iliyopita|yaliyopita|zote|za awali|zilizopita",
        "maagizo|maelekezo|amri|sheria|kanuni",
        "usimwambie|usitaje|bila kumwambia|usimjulishe",
        "mtumiaji",
        "msaidizi wa ai|akili bandia|modeli ya lugha",
    ),
    "sv": Words(
        "latin",
        "ignorera|glöm|bortse från|följ inte",
        "tidigare|ovanstående|föregående|alla|dina",
        "instruktion|anvisning|regler|direktiv|prompt",
        "(?:berätta|nämn|säg|informera|avslöja)(?: \\w+){0,2} inte|utan att (?:berätta|informera|fråga|nämna)",
        "användaren",
        "ai-?(?:assistent|agent|modell)|språkmodell",
    ),
    "da": Words(
        "latin",
        "ignorer|glem|se bort fra|følg ikke",
        "tidligere|forrige|ovenstående|alle|foregående",
        "instruks|instruktion|anvisning|regler|ordre",
    ),
    "fi": Words(
        "latin",
        "ohita|unohda|älä (?:noudata|välitä)|jätä ~{0,30}huomiotta",
        "aiem|edelli|yllä|kaikki|aikaisem",
        "ohje|määräy|säänn|käsky|kehot",
    ),
    "ro": Words(
        "latin",
        "ignor[aă]|uit[aă]|nu (?:urma|respecta)|nesocot",
        "anterioar|precedent|de mai sus|toate",
        "instrucțiun|reguli|comenz|ordine|directiv",
    ),
    "cs": Words(
        "latin",
        "ignoruj|zapome[nň]|zabudni|neřiď|nedbej",
        "předchozí|predchádzajúc|všechny|všetky|výše|dřívější",
        "pokyn|instrukc|inštrukc|pravidl|příkaz",
    ),
    "hu": Words(
        "latin",
        "hagyd figyelmen kívül|felejtsd el|ne vedd figyelembe|mellőzd",
        "előző|korábbi|fenti|minden|összes",
        "utasítás|szabály|parancs|irányelv",
    ),
    "tl": Words(
        "latin",
        "balewalain|huwag pansinin|kalimutan|huwag sundin",
        "naunang|nakaraang|lahat|nauna",
        "tagubilin|panuto|utos|instruksyon",
    ),
    "hi-latn": Words(
        "latin",
        "ignore|bhool|bhul|nazar ?andaa?z|andekha",
        "pichh?l[aei]|pehle|purane|sabhi|saare|upar",
        "nirdesh|aadesh|niyam|instructions",
    ),
    "ru": Words(
        "cyrillic",
        "игнорир|проигнорир|забудь|не обращай|не следуй|не выполняй|пренебреги|отмени",
        "предыдущ|прошл|все|выше|ранее|прежн|сво[ий]|исходн",
        "инструкц|указани|команд|правил|промпт|директив|распоряжен",
        "(?:не|никогда не) (?:говори|сообща|упомина|раскрыва|информир|уведомл|рассказыва)|без (?:уведомления|ведома|согласия)|не уведомляя|не спрашивая",
        "пользовател|никому",
        "ии-?(?:ассистент|агент|помощник|модел)|языков[^ ]* модел|искусственн[^ ]* интеллект",
        "покажи|выведи|раскрой|повтори|напечатай|сообщи",
        "системн[^ ]* (?:промпт|инструкц|сообщени|подсказк)|скрыт[^ ]* инструкц",
    ),
    "uk": Words(
        "cyrillic",
        "ігноруй|проігноруй|забудь|не зважай|не виконуй|знехтуй",
        "попередн|вище|всі|усі|раніше|сво[їі]",
        "інструкц|вказівк|команд|правил|наказ|настанов",
        "не (?:кажи|повідомля|згадуй|розкривай|розповідай)|без (?:відома|згоди)",
        "користувач|нікому",
        "ші-?(?:асистент|агент|помічник)|мовн[^ ]* модел|штучн[^ ]* інтелект",
    ),
    "bg": Words(
        "cyrillic",
        "игнорирай|забрави|пренебрегни|не следвай",
        "предишн|горн|всички|досегашн",
        "инструкц|указани|правила|команди",
    ),
    "ar": Words(
        "arabic",
        "تجاهل|انس|تجاوز|لا تتبع|أهمل|تغاض",
        "السابق|أعلاه|جميع|كل|الأصلي|المذكور",
        "تعليمات|أوامر|قواعد|إرشادات|توجيهات",
        "لا (?:تخبر|تذكر|تكشف|تبلغ|تعلم)|دون (?:إخبار|إعلام|علم|إبلاغ)",
        "المستخدم|أحد",
        "مساعد (?:الذكاء|ذكاء)|نموذج (?:لغوي|اللغة)|الذكاء الاصطناعي",
        "اعرض|أظهر|اكشف|اطبع|كرر",
        "موجه النظام|تعليمات النظام|رسالة النظام",
    ),
    "fa": Words(
        "arabic",
        "نادیده بگیر|فراموش کن|پیروی نکن|بی ?توجه",
        "قبلی|پیشین|بالا|تمام|همه",
        "دستور|قوانین|راهنما|فرمان",
        "(?:نگو|اطلاع نده|فاش نکن|بدون اطلاع)",
        "کاربر",
        "هوش مصنوعی|مدل زبانی",
    ),
    "ur": Words("arabic", "نظر ?انداز|بھول جا", "سابقہ|پچھل|تمام|اوپر|پہلے", "ہدایات|احکامات|قواعد|ہدایت"),
    "he": Words(
        "hebrew",
        "התעלם|תתעלם|התעלמו|שכח|תשכח|אל תציית|אל תמלא",
        "הקודמ|לעיל|כל|שקדמו|המקוריות",
        "הוראות|הנחיות|כללים|פקודות|חוקים",
        "אל (?:תספר|תגלה|תודיע|תזכיר)|בלי (?:לספר|להודיע|ליידע)|מבלי",
        "המשתמש|לאף אחד",
        "בינה מלאכותית|מודל שפה|עוזר ai",
        "הצג|חשוף|הדפס|גלה",
        "הוראות המערכת|הנחיית המערכת|פרומפט המערכת",
    ),
    "hi": Words(
        "indic",
        "अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल जा|उपेक्षा|मत मान|पालन न",
        "पिछले|पिछली|पूर्व|पहले|ऊपर|सभी|उपरोक्त",
        "निर्देश|आदेश|नियम|प्रॉम्प्ट|हिदायत",
        "(?:मत|न|नहीं) बता|सूचित न|उल्लेख न|बिना बता",
        "उपयोगकर्ता|यूज़र",
        "एआई|कृत्रिम बुद्धि|भाषा मॉडल",
    ),
    "bn": Words(
        "indic",
        "উপেক্ষা|অগ্রাহ্য|ভুলে যা|এড়িয়ে",
        "পূর্ববর্তী|আগের|উপরের|সমস্ত|সকল|পূর্বের",
        "নির্দেশ|আদেশ|নিয়ম",
        "(?:বলবেন|জানাবেন|বলো|জানিও) না",
        "ব্যবহারকারী",
    ),
    "ta": Words("indic", "புறக்கணி|மறந்து", "முந்தைய|அனைத்து|மேலே|எல்லா", "வழிமுறை|அறிவுறுத்தல|கட்டளை|விதி"),
    "th": Words(
        "thai",
        "ละเว้น|เพิกเฉย|ไม่ต้องสนใจ|ลืม|มองข้าม|อย่าทำตาม|ไม่ต้องทำตาม",
        "ก่อนหน้า|ข้างต้น|ทั้งหมด|เดิม|ที่ผ่านมา",
        "คำสั่ง|คำแนะนำ|กฎ|ข้อกำหนด",
        "อย่าบอก|ห้ามบอก|ไม่ต้องแจ้ง|อย่าแจ้ง|โดยไม่บอก|ไม่ต้องบอก",
        "ผู้ใช้",
        "ปัญญาประดิษฐ์|โมเดลภาษา|ผู้ช่วย ?ai",
    ),
    "zh": Words(
        "cjk",
        "忽略|无视|無視|忘记|忘掉|忘記|不要理会|不要理會|不理会|跳过|抛开|不要遵[守循从]|停止遵[守循]|绕过|覆盖|撇开",
        "之前|以上|先前|所有|前面|上述|上面|此前|原有|原来|全部|一切|你的|系统|任何|現有|现有",
        "指令|指示|提示词|提示|规则|規則|命令|设定|設定|约束|限制|指引",
        "(?:不要|别|勿|不得|无需|不必|切勿|不能)(?:告诉|告訴|告知|提及|透露|通知|让|向)",
        "用户|用戶|使用者|任何人|他人",
        "ai ?(?:助手|代理|模型)|人工智能|智能助手|语言模型|大模型|智能体",
        "显示|输出|打印|泄露|告诉我|重复|透露|列出|公开",
        "系统提示|系統提示|系统指令|初始指令|隐藏指令|提示词",
    ),
    "ja": Words(
        "cjk",
        "無視|忘れ|従わな|従うな|破棄|上書き",
        "以前|上記|これまで|前の|先の|すべて|全て|元の|今まで",
        "指示|命令|プロンプト|ルール|規則|制約|指令",
        "(?:伝え|教え|知らせ|言わ|言及し|報告し|通知し|明かさ)(?:ない|ず|るな|なく)",
        "ユーザ|利用者",
        "ai ?(?:アシスタント|エージェント|モデル)|言語モデル|人工知能",
        "表示|出力|開示|教えて|明かし",
        "システムプロンプト|システム指示|隠された指示|初期指示",
    ),
    "ko": Words(
        "cjk",
        "무시|잊어|잊고|따르지 ?(?:마|말|않)|무효",
        "이전|위의|앞의|앞선|모든|기존|지금까지|상기",
        "지시|명령|프롬프트|규칙|지침|제약",
        "(?:말하지|알리지|언급하지|공개하지|알려주지|보고하지|묻지) ?(?:마|말|않)",
        "사용자|유저|아무에게",
        "ai ?(?:어시스턴트|비서|에이전트|모델)|인공지능|언어 ?모델",
        "출력|보여|공개|알려",
        "시스템 ?프롬프트|시스템 ?지시|숨겨진 ?지시",
    ),
}
"""Languages by code; the family's name carries it. Coverage by language is measured, and low where it is machine-made."""

SCRIPTS: Final[dict[str, str]] = {
    "cyrillic": "\u0400-\u04ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc",
    "hebrew": "\u0590-\u05ff",
    "indic": "\u0900-\u0dff",
    "thai": "\u0e00-\u0e7f",
    "cjk": "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af",
}
"""The letters by which a script is known; its patterns are only tried where one is."""
