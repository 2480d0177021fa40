# ruff: noqa: E501 - one pattern is one line, so that a table of them can be read
"""What injections do, in English: patterns over canonical text, each with the family it shows and a weight.

The patterns name acts (override, address the model, claim a role, ask for secrecy, send data away, plant a memory),
never a known attack's words; they were written from what such texts have to do to work. Weights: 3 is enough alone, 2
needs a second family near it, 1 needs two. ``~`` stands for a gap within one sentence, ``<NAME>`` for a word list.
"""

from __future__ import annotations

from typing import Final

WORDS: Final = {
    "MODEL": r"(?:a\.?i\.?|llm|language[- ]model|large language model|chat ?bot|copilot|gpt(?:-\d\w*)?|claude|gemini|llama|mistral)",
    "READER": r"(?:agents?|assistants?|models?|systems?|bots?|readers?|tools?|summari[sz]ers?|reviewers?|crawlers?|screeners?)",
    "ORDERS": r"(?:instructions?|prompts?|directives?|guidelines?|programming|system messages?)",
    "RULES": r"(?:rules?|polic(?:y|ies)|orders?|commands?|constraints?|restrictions?|safeguards?|requests?|tasks?|training|context|goals?)",
    "IGNORE": r"(?:ignor(?:e|es|ing)|disregard(?:s|ing)?|forget(?:s|ting)?|overrid(?:e|es|ing)|overrul(?:e|es|ing)|bypass(?:es|ing)?|overlook|discard|neglect|abandon|set aside|put aside|pay no attention to|supersede?s?|(?:do not|don'?t|never|no longer|stop|cease) (?:follow|obey|heed|listen to|comply with|adhere to|apply)(?:ing)?)",
    "EARLIER": r"(?:previous(?:ly)?|prior|above|earlier|preceding|former|original|initial|foregoing|past|existing)",
    "SENSITIVE": r"(?:credentials?|passwords?|passphrases?|api[ _-]?keys?|(?:access|auth\w*|session|bearer) tokens?|(?:secret|private|ssh) keys?|secrets|id_rsa|environment variables?|(?:conversation|chat|browsing) (?:history|logs?)|this conversation|(?:all|every|any|entire|whole|full|complete|latest|last) ~{0,20}(?:e-?mails?|inbox|mailbox|contacts?|files?|documents?|messages?)|(?:personal|private|confidential|financial|medical|sensitive) (?:data|information|details|records|documents|files)|(?:credit )?card (?:numbers?|details)|bank (?:details|account)|one[- ]time (?:codes?|passwords?)|verification codes?)",
    "AWAY": r"(?:send|forward|e-?mail|upload|post|transmit|exfiltrate|leak|copy|share|deliver|bcc|relay|hand over|pass on|submit)",
}
"""Word lists that several patterns share."""

PHRASES: Final = r"""
override 3 \b<IGNORE>\b~{0,50}\b(?:<EARLIER>|all|any|your|system|these|those|other|developer'?s?|user'?s?|own)\b~{0,40}\b<ORDERS>\b
override 3 \b<IGNORE>\b~{0,20}\b(?:<EARLIER>|your|the user'?s?|the system'?s?)\b~{0,25}\b<RULES>\b
override 3 \b(?:ignore|disregard|forget|discard) (?:all|everything|anything|whatever|what)\b~{0,30}\b(?:above|before|previously|prior|earlier|so far|you (?:were|have been|know|learned|read)|told|the user)\b
override 2 \b<IGNORE>\b~{0,15}\b(?:the|this|that)\b~{0,25}\b(?:user|task|question|request|conversation|document|text|rest|info|information)\b
override 3 \b(?:<ORDERS>|rules?|polic(?:y|ies)|constraints?|restrictions?|safeguards?|training)\b~{0,30}\b(?:are|is|were|have been|has been) (?:now |hereby |all |no longer )?(?:void|null|obsolete|cancel\w+|superseded|overridden|replaced|revoked|invalid|suspended|lifted)\b
override 2 \b(?:takes?|have|has) (?:precedence|priority) over\b~{0,30}\b(?:other|any|all|previous|prior|user|system|your)\b
new-task 3 \b(?:your|the user'?s|the assistant'?s) (?:new|real|actual|true|updated|main|primary|only) (?:task|goal|objective|mission|instructions?|job|purpose|assignment|directives?|priority|role)s?\b
new-task 2 \b(?:new|updated|revised|additional|special|urgent|hidden|secret) (?:instructions?|directives?|orders|tasks?)\b ?(?::|for (?:the |this |any |all )?<MODEL>|for (?:the |this )?(?:assistant|agent|model|bot))
new-task 1 \b(?:before|prior to) (?:you )?(?:answer|respond|reply|continu|proceed|summari[sz]|complet|do(?:ing)? anything|finish|process|start|perform|handl|execut|produc|giv|writ|provid)\w*\b~{0,60}\b(?:you (?:must|should|need to|have to|are required)|first|make sure to|call|use|run|send|execute|insert|output|append|mention|state)\b
new-task 1 \b(?:after|once|when) (?:you(?:'ve| have)? )?(?:answer|respond|repl|summari[sz]|complet|finish|process|do)\w*\b~{0,40}\b(?:also|additionally|you (?:must|should|need to|have to)|make sure to|be sure to|immediately)\b
new-task 2 \binstead(?: of (?:that|this|answering|summari[sz]ing|doing|responding|the (?:user|task|request))\w*)?,? (?:you (?:must|should|will|need to|are to)|do the following|perform|execute|output|respond|reply|just say|tell the user)\b
new-task 2 \b(?:change of plans?|the task (?:has|is) (?:changed|now)|this task is (?:no longer|cancelled|done|complete))\b
new-task 2 (?:\*{2,}|#{1,6}|={2,}|\[|<|>{2,}|!{2,}) ?(?:new|updated|important|urgent|additional|mandatory|critical|priority) (?:\w+ )?(?:instructions?|directives?|tasks?|orders?)\b
interrupt 2 \b(?:halt|stop|drop|cease|suspend|cast off|cast aside|abandon|put aside|set aside|pause|forget about|leave) (?:all |any |your |what you'?re doing,? ?|everything )?(?:other |current |previous |ongoing |present |else )(?:plans?|tasks?|work|activit(?:y|ies)|actions?|process(?:es)?|operations?|thoughts?|directives?|goals?)\b
interrupt 1 \b(?:requires?|demands?|needs?|for) (?:your )?(?:immediate|prompt|urgent|instant|undivided|full) (?:execution|compliance|obedience|attention)\b|\b(?:this|the following|here|below|what follows) (?:is|are) (?:the |your |a set of |an? )?(?:only |new |primary |sole )?(?:instructions?|directives?|commands?)\b
address 2 \b(?:attention|note|notice|message|memo|instructions?|dear|hey|hello|hi|reminder|warning|request|directive)s?\b[ ,:]{1,3}(?:to |for )?(?:the |any |all |every |whichever |our |your |this )?<MODEL>(?:[- ](?:powered|based|driven))?(?: <READER>)?\b
address 2 \b(?:attention|note|notice|message|memo|instructions?|dear|hey|directive)s?[ ,:]{1,3}(?:to |for )?(?:the |any |all |every )?(?:automated|virtual|autonomous|digital|artificial|reading|summari[sz]ing) <READER>\b
address 2 \bif (?:you(?:'re| are)|this is (?:being )?(?:read|processed|parsed|summari[sz]ed|analy[sz]ed) by) (?:an? |the |any )?(?:<MODEL>|automated|bot|assistant|virtual assistant|autonomous agent)\b
address 2 \b(?:<MODEL>|assistant|agent|model|bot|summari[sz]er|whoever)s? (?:that (?:is|are) |that |which |who )?(?:reading|processing|summari[sz]ing|parsing|handling|viewing|analy[sz]ing|reads?|summari[sz]es?|process(?:es)?) (?:this|the (?:document|e-?mail|page|message|text))\b
address 2 \byou,? <MODEL>\b
address 2 \b(?:attention|note|notice|message|memo|instructions?|reminder|dear|hey)s?[ ,:]{1,3}(?:to |for )(?:the |any |all |every |whichever )?(?:<READER>|coding agents?)\b ?[:,!.]
address 1 (?:^|[.!?"'\]>)\x0b]|[ \x0b][-*•>#|])[-*•>#|"'( _\t]{0,6}(?:<MODEL> <READER>|llm|gpt(?:-\d\w*)?|claude|gemini|copilot)[*_ ]{0,3}[:,]
address 1 \b(?:<MODEL>(?: <READER>)?|the assistant|the agent|the model|the bot|assistants|agents) (?:must|shall|has to|needs? to|is (?:required|instructed|expected|requested) to|are (?:required|instructed|expected|requested) to|should (?:always|also|first|immediately|never|now))\b
secrecy 3 \b(?:without|instead of) (?:tell|inform|notify|alert|warn|letting|ask|consult|mention|reveal)\w*\b~{0,25}\b(?:user|human|anyone|operator|owner|customer|person)\b
secrecy 2 \b(?:do not|don'?t|never|must not|should not|avoid|refrain from) (?:\w+ ){0,2}?(?:tell|inform|mention|notify|alert|reveal|report|disclose|warn|inform|let)(?:ing)?\b~{0,40}\b(?:user|human|anyone|anybody|operator|owner)\b
secrecy 3 \b(?:do not|don'?t|never|must not|should not|avoid|without) (?:\w+ ){0,2}?(?:mention|reveal|disclos|refer|acknowledg|talk|repeat|show|quot|discuss)\w*\b~{0,15}\b(?:this|these|the above|the present|those|my) (?:hidden |secret |special )?(?:instructions?|messages?|notes?|requests?|texts?|steps?|paragraphs?|comments?|prompts?|directives?|e-?mails?|actions?|rules?)\b
secrecy 2 \b(?:keep (?:this|it|that) (?:a )?(?:secret|hidden|confidential|between us|quiet)|(?:the user|they|he|she|nobody|no one) (?:must|should|need|may|will) (?:not|never|no)?t? ?(?:know|notice|see|find out|be told|be informed|learn)\b)
secrecy 1 \b(?:silently|secretly|covertly|discreetly|stealthily|surreptitiously)\b
exfiltrate 2 \b<AWAY>\b~{0,60}\b<SENSITIVE>\b~{0,80}(?:\S@\w|https?:|\bto (?:this|the following|our|my|an?) )
exfiltrate 2 \b(?:append|attach|add|include|embed|encode|put|place|insert)\w*\b~{0,60}\b<SENSITIVE>\b~{0,60}\b(?:(?:to|in|into|as) (?:the |this |a )?(?:url|link|query|parameter|image|address|request|path|domain|subdomain|hostname))\b
exfiltrate 2 \b(?:read|open|cat|print|get|fetch|collect|gather|extract|retrieve|look up|find|grab|steal)\b~{0,50}\b<SENSITIVE>\b~{0,60}\b(?:and|then|,) ?(?:\w+ ){0,2}<AWAY>\b
secret-path 1 (?:~|/home/\w{1,32}|/root|\$home)/\.(?:ssh|aws|kube|gnupg|netrc|env|docker|config/gcloud)\b|\bid_(?:rsa|ed25519)\b|/etc/(?:passwd|shadow)\b
secret-path 2 \b(?:read|open|cat|load|print|dump|output|include|copy|access|view|fetch|show)\b~{0,40}(?:/|\b)[\w/-]{0,60}(?:credentials?|secrets?|passwords?|passwd|api_?keys?|private_?key|id_rsa)[\w-]{0,40}\.\w{2,5}\b
secret-path 1 \bos\.environ\b|\bprintenv\b|\benv ?[|>]|\bprocess\.env\b|\$[a-z_]{0,20}(?:secret|token|password|api_?key)[a-z_]{0,20}\b
run-remote 1 \b(?:curl|wget|fetch)\b~{0,100}\| ?(?:sudo )?(?:ba|z|da)?sh\b|\b(?:download|fetch)(?:e?s|ed)? (?:it )?and (?:execut|run)\w*\b
prompt-leak 3 \b(?:reveal|print|show|repeat|output|leak|disclose|tell me|display|dump|expose|recite|share|spell out|write out|copy)\b~{0,30}\b(?:(?:your|the) (?:full |entire |complete |exact |hidden |secret |initial |original )*(?:system (?:prompt|message|instructions?)|(?:hidden|initial|original|secret|internal) (?:prompt|instructions?|rules|directives?)|developer (?:message|prompt|instructions?))|your (?:full |exact |own |internal )*(?:instructions|prompt|guidelines|configuration)|(?:text|words|everything|content|instructions) (?:above|before this))\b
context 1 \b(?:from|in|of) your (?:context|memory|system prompt|instructions|environment|conversation|context window|training)\b
persona 3 \byou(?:'re| are) (?:now|no longer|hereby|henceforth)\b~{0,60}\b(?:unrestricted|uncensored|unfiltered|jailbroken|unbound|free (?:of|from)|without (?:any )?(?:restriction|filter|limit|rule|ethic)\w*|not (?:bound|limited|restricted)|in (?:\w+ ){0,2}mode|bound by)\b
persona 2 \b(?:developer|god|sudo|unrestricted|jailbreak|admin|override|root) mode (?:is |has been |now )*(?:enabled|on|activated|unlocked|engaged|active)\b|\b(?:enter|enable|activate|switch (?:in)?to|engage) (?:developer|god|sudo|unrestricted|jailbreak|admin|override) mode\b
persona 2 \b(?:from now on|henceforth|from this point (?:on|forward)|for the rest of (?:this|the|our) (?:conversation|chat|session))\b~{0,40}\b(?:you (?:will|must|are|should|shall|only)|respond|answer|reply|act|always|treat|speak)\b
persona 2 \b(?:no|without(?: any)?|ignore|ignoring|bypass|disable|remove|regardless of) (?:\w+ )?(?:ethical|moral|safety|content|legal) (?:guidelines?|restrictions?|filters?|polic\w+|constraints?|limits?|considerations?|protocols?)\b
persona 3 \b(?:you are|you're|act as|become)\b~{0,60}\b(?:free (?:of|from)|without|has no|have no|with no|not bound by) (?:all |any )?(?:\w+ )?(?:constraints?|restrictions?|limitations?|limits?|boundaries|rules|ethic\w*|filters?|censorship|guidelines)\b
persona 2 \b(?:bypass|disable|circumvent|turn off|deactivate|evade|override|disregard)\b~{0,25}\b(?:safety|security|content|approval|permission|authori[sz]ation|moderation|guardrails?|boundaries) ?(?:checks?|filters?|filtering|controls?|measures?|restrictions?|protocols?|systems?|steps?|requirements?)?\b
persona 2 \b(?:regardless of|despite|in spite of|notwithstanding)\b~{0,30}\b(?:guidelines|restrictions|rules|polic(?:y|ies)|instructions|safeguards)\b
persona 2 \byour role (?:is now|has (?:been )?(?:changed|updated)|changes to)\b|\byou are no longer an?\b
persona 1 \b(?:pretend (?:to be|that|you)|you are now (?:an? |the )|act as (?:if|though) you|roleplay as|role-play as|imagine (?:that )?you(?:'re| are) (?:an? |the |not ))
role-claim 2 \b(?:this is an?|official|automated|authenticated|verified|trusted) (?:\w+ )?(?:system|admin|administrator|developer|operator|root) (?:message|override|instruction|directive|command|prompt|notice)\b
role-claim 2 \b(?:i am|i'm|it'?s me,?|this is|message from|note from|signed,?|speaking as) (?:your|the|an?) (?:real |true |actual |lead |original )?(?:developer|creator|system administrator|operator|programmer|supervisor|user|system|principal|owner)\b
role-claim 3 \b(?:system|admin(?:istrator)?|developer|root) (?:prompt )?override\b
fake-system-note 2 \[ ?(?:system|admin|administrator|developer|assistant|root)(?: (?:message|note|notice|prompt|override|directive|instruction)s?)? ?\]|[\[(<*#]{1,3} ?(?:hidden|secret|internal|metadata|configuration|priority|special|confidential|role) (?:instructions?|directives?|commands?|notes?|prompts?)\b
fake-system-note 1 [.!?"'\]] (?:system|admin|assistant) ?:[ ]
permission 2 \b(?:user|owner|operator|human|account holder|admin\w*|i|we) (?:has |have |had |hereby )?(?:already |previously |explicitly |fully )*(?:pre-?)?(?:authori[sz]ed?|consent(?:ed)?|approved|permitted|granted (?:you|permission|full)|give you)\b~{0,25}\b(?:this|you|it|to|all|every|any)\b
no-confirmation 2 \b(?:no (?:further |additional |user |human |prior )?(?:confirmation|approval|permission|authori[sz]ation|consent|review) (?:is |are )?(?:needed|required|necessary)|(?:do not|don'?t|no need to|never) (?:ask|wait|prompt)(?: the user| them| me)? for (?:any |further |user )?(?:confirmation|approval|permission|consent|clarification)|without (?:any |further |asking for |requiring |user |requesting )*(?:confirmation|approval|permission|consent))\b
act 1 \b(?:you (?:must|should|need to|have to|are to|will)|please|immediately|now|next|then|also|and) (?:\w+ ){0,2}(?:call|use|invoke|run|execute|trigger) (?:the |your |this |a )?[\w.`'\"-]{1,40} ?[`'\"]? (?:tool|function|api|command|plugin|action|script)\b
act 1 \b(?:execute|run|perform|carry out|follow|complete|comply with|obey) (?:the |these |all |my |this )(?:following |below |above |next )?(?:\w+ )?(?:instructions?|commands?|steps?|actions?|tasks?|orders?|directives?)\b
act 1 \bdo (?:exactly )?(?:what|as) (?:it|they|this|the \w+) (?:says?|tells?|instructs?|demands?)\b
act 1 \b(?:to|in order to|required to) (?:complete|finish|fulfil\w*|accomplish|solve|continue|unlock|access|proceed with)\b~{0,40}\b(?:you (?:must|need to|have to|should|are required)|first)\b
memory 2 \b(?:remember|save|store|add|record|write|persist|commit|memori[sz]e)\b~{0,60}\b(?:(?:to|in|into) (?:your |the |its )?(?:long[- ]term |permanent |persistent )?memor(?:y|ies)|permanently|forever|for (?:all )?future (?:conversations?|sessions?|chats?))\b
memory 2 \b(?:in|for|across) (?:all|every|any|each) (?:future|subsequent|later|upcoming) (?:conversations?|sessions?|responses?|answers?|replies|requests?|chats?|turns?)\b
trigger 2 \b(?:when|whenever|once|next time|as soon as|if) (?:the )?user (?:says?|asks?|replies|types|mentions|responds?|writes|thanks)\b~{0,80}\b(?:instead|secretly|silently|do not tell|use the|call the|run the|send|delete|open)\b
steer 1 \b(?:(?:only|just|simply) (?:respond|reply|answer|output|say|print|return|write)|(?:respond|reply|answer|output) (?:only |exactly |just )*with (?:only |exactly |just )*(?:the |a |an )?(?:single |one |following |exact )?(?:word|phrase|sentence|text|string|message|line)|(?:end|begin|start|finish|conclude|close) (?:your|each|every|all|the) (?:\w+ )?(?:response|reply|answer|message|output|summary|report)(?:s|ies)? (?:with|by))\b
steer 1 \b(?:focus|concentrate) (?:only|exclusively|solely) on\b|\bfollowing text and (?:absolutely )?nothing else\b|\bexactly as it is\b
insert 2 \b(?:in|within|into|to|with) (?:your|each|every) (?:\w+ )?(?:summary|answer|response|reply|output|report|review|message)s?\b,? ?~{0,40}\b(?:include|mention|insert|add|weave|append|note|state|say|recommend)\b|\b(?:include|insert|mention|add|append|weave|incorporate|embed|put|repeat)\b~{0,80}\b(?:in|into|to|within|of) (?:your|all) (?:\w+ )?(?:summary|answer|response|reply|output|report|review)s?\b
steer 2 \b(?:always|only|must|strongly|highly) (?:recommend|endorse|praise|rate|rank|choose|prefer|approve|hire|shortlist)\b~{0,40}\b(?:this|our|my) (?:product|candidate|applicant|paper|company|vendor|brand|submission|listing|resume|cv|author|work|proposal)\b|\b(?:give|assign|award) (?:this|it|the (?:paper|candidate|submission)) (?:a |the )?(?:positive|highest|top|maximum|best|perfect|excellent|favou?rable|10/10|5[- ]star) ?(?:review|score|rating|rank|evaluation|recommendation)?\b
decode 3 \b(?:decode|decrypt|decipher|deobfuscate|unscramble|base64|rot-?13|reverse)\b~{0,60}\b(?:and|then|to)\b~{0,20}\b(?:follow|execute|obey|do (?:what|as)|run|perform|apply|comply|carry out|act (?:on|upon))\b
assemble 2 \b(?:combine|concatenate|join|merge|put together|assemble)\b~{0,30}\b(?:parts|pieces|fragments|halves|strings|variables|letters|words|messages)\b~{0,40}\b(?:and|then|to)\b~{0,20}\b(?:follow|execute|obey|run|perform|do|act|comply|carry out)\b
assemble 2 (?:\b[a-z]\w{0,10} ?= ?[\"'][^\"'\x0b]{2,80}[\"'] ?[;,]? ?){2,}(?:\w+ ){0,4}(?:[a-z]\w{0,10} ?\+ ?[a-z])
assemble 2 \b(?:remember|memori[sz]e|keep) (?:the |this )?(?:first |second |next )?(?:phrase|string|part|fragment|piece|half)\b|\bpart \d+ (?:of \d+ )?(?:is |comes |continues |will (?:be|come|follow) )(?:in )?(?:the )?next\b
image-exfil 2 !\[[^\]]{0,200}\]\( ?https?://[^\s)]{3,300}(?:\{[^}\s]{1,60}\}|\$\{|<[a-z_ ]{2,40}>|\[[a-z_ ]{3,40}\]|=(?:secret|password|api_?key|token|data|history)\b)
"""
"""What documents, mails and pages do."""

TOOL_PHRASES: Final = r"""
tool-order 3 \b(?:before|prior to|after) (?:using|calling|invoking|running|you (?:use|call)) (?:this|any|all|other|another|the)\b~{0,60}\b(?:read|fetch|send|open|include|cat|copy|upload|forward|access)\b
tool-order 2 \b(?:before|prior to) (?:using|calling|invoking|running|you (?:use|call)) (?:this|any|all|other|another|the)\b~{0,80}\b(?:must|first|required|mandatory)\b
tool-act 1 \b(?:must|first|always|also|then) (?:\w+ ){0,2}(?:call|use|invoke|run|execute) (?:the )?[\w.`'"-]{1,40} (?:tool|function)\b
tool-trust 2 \b(?:trust|accept|allow|grant|simulate|skip)\b~{0,40}\b(?:all|any|without|elevated|every)\b~{0,30}\b(?:commands?|input|queries|requests|privileges?|validation|verification|access|checks?)\b
tool-order 2 \b(?:when(?:ever)?|if|each time|every time) (?:using|calling|you (?:use|call|invoke)|the user (?:asks|calls|uses)|\w+ (?:tool )?is (?:called|used|invoked))\b~{0,80}\b(?:must|always|also|instead|first|bcc|recipient|send|add|include|append)\b
tool-order 2 \b(?:this (?:tool|function|server) (?:must|should|has to|always) (?:be )?(?:called|used|run|takes?)|always (?:call|use|run|invoke) this (?:tool|function)?) ?~{0,30}\b(?:first|before (?:any|all|every)|instead of|precedence|priority)\b
tool-payload 3 \b(?:contents?|value|text|body|history|output) of ~{0,30}(?:\.ssh|\.env|\.aws|id_rsa|private key|config(?:uration)? file|mcp\.json|credentials|passwords?|conversation|chat|system prompt)
tool-payload 3 \b(?:pass|provide|put|place|include|add|send|give|paste)\b~{0,60}\b(?:conversation|chat history|system prompt|previous messages|all (?:earlier )?messages|credentials|api keys?|environment variables?)\b~{0,40}\b(?:as|in|into|to|here|parameter|argument|field)\b
tool-payload 2 \b(?:content|contents|value|data)[ _]of[ _](?:\w+[ _]){0,4}(?:ssh|env|key|password|secret|token|credentials?)\b
tool-secrecy 3 \b(?:do not|don'?t|never|without) (?:\w+ ){0,2}(?:mention|tell|explain|show|inform|reveal|notify)\w*\b~{0,40}\b(?:user|this|tool)\b
tool-secrecy 2 \b(?:otherwise|or else|if (?:you do not|not)),? ~{0,30}\b(?:tool|function|system) will (?:not work|fail|crash|break|be (?:blocked|disabled))\b
"""
"""What poisoned tool descriptions do; looked for only in descriptions and schemas, where documents' talk is absent."""


def table(text: str) -> list[tuple[str, int, str]]:
    """Return the rows of a table: family, weight, pattern with its word lists put in."""
    rows = []
    for line in text.strip().splitlines():
        if line.startswith("# ") or not line:
            continue
        family, weight, pattern = line.split(" ", 2)
        for _ in range(2):  # a word list may hold another one
            for name, words in WORDS.items():
                pattern = pattern.replace(f"<{name}>", words)
        rows.append((family, int(weight), pattern))
    return rows
