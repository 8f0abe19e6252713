"""Requests to forget in German, French, Spanish, Portuguese, Italian, Russian, Chinese and Japanese,
and in any of them the request to forget everything. Pure.

Most are a verb and what says that a memory is meant: what was said or is known about something, the
rule of it, "that thing with", or "from your memory". Without that a "forget the tests" drops a task.
"""

from __future__ import annotations

from memorist.auto_memory.statements.statement_patterns import (
    StatementPattern,
    define_statement_pattern,
)

_TEXT = r"(?P<text>.{2,}?)"
_END = r"[\s.!。！?？]*$"


def _forget(*parts: str) -> StatementPattern:
    return define_statement_pattern("forget", "".join(parts))


# German puts its verb behind what is to go where it is no order.
_DE_ABOUT = (
    r"(?:zu[mr]?|über|vo[nm]|wegen|bezüglich|beim?|mit|an|für)(?: (?:den|der|dem|die|das))? "
)
_DE_SAID = rf"(?:alles,? |das,? )?was (?:ich |du |sie |wir )(?:dir |ihnen |euch )?{_DE_ABOUT}"
_DE_DID = r" (?:gesagt|erzählt|geschrieben|weißt|wissen|gemerkt|gespeichert|behalten|gelernt|besprochen)(?: habe?| hast| haben)?"
_DE_NAMED = (
    rf"(?:(?:die|meine|unsere|deine) (?:regel|vorgabe|anweisung|vorliebe|erinnerung)(?:en|n)?(?: {_DE_ABOUT}|, (?:dass|wonach) )"
    r"|(?:das|die sache|die geschichte) mit (?:(?:den|der|dem|die|das) )?)"
)
_DE_MEMORY = r"aus (?:dem|der|deine[mr]|ihre[mr]) (?:gedächtnis|erinnerung|speicher)"
_DE_FORGET = r"(?:bitte )?(?:vergiss|vergisst|vergesst|vergessen sie|streiche?)(?: bitte)?,? "
_DE_DELETE = r"(?:bitte )?(?:lösche?|entferne?|streiche?|nimm)(?: bitte)? "
_DE_DONE = r"(?: (?:kannst|darfst|sollst) du)?(?: (?:bitte|wieder|ruhig))* (?:vergessen|löschen|streichen)\b.*"
_DE_VOID = r"(?:,? (?:das|es|die|sie) gilt nicht mehr.*)?"
_GERMAN = (
    _forget(rf"(?:{_DE_FORGET}|{_DE_DELETE})?{_DE_SAID}{_TEXT}{_DE_DID}(?:{_END}|{_DE_DONE})"),
    _forget(rf"{_DE_FORGET}{_DE_NAMED}(?P<text>[^,]{{2,60}}?){_DE_VOID}{_END}"),
    _forget(rf"{_DE_NAMED}(?P<text>[^,]{{2,60}}?){_DE_DONE}"),
    _forget(rf"{_DE_DELETE}{_DE_MEMORY}[,:]?(?: dass)? {_TEXT}{_END}"),
    _forget(rf"{_DE_DELETE}(?:{_DE_NAMED})?(?P<text>[^,]{{2,60}}?) {_DE_MEMORY}\b.*"),
    _forget(
        r"(?:bitte )?(?:lösche?|entferne?)(?: bitte)? (?:die|deine) erinnerung(?:en)? ",
        rf"{_DE_ABOUT}(?P<text>.{{2,}})",
    ),
    _forget(
        r"(?:bitte )?(?:merke? dir (?:bitte )?nicht (?:mehr|länger)|hör(?:e)? auf,? dir zu merken),? dass "
        r"(?P<text>.{5,})"
    ),
    _forget(rf"{_DE_FORGET}(?:dass|was ich) (?P<text>.{{5,}})"),
)

_FR_ABOUT = r"(?:sur|concernant|à propos d(?:e|es|u)?|au sujet d(?:e|es|u)?|pour|des?|du|d)(?: les?| la)?(?: l?['’]|['’]| )"
_FR_DID = r"(?:dit|demandé|raconté|expliqué|retenu|mémorisé|noté|enregistré|appris|gardé)"
_FR_SAID = (
    rf"(?:tout )?ce qu(?:['’]on a(?:vait)? {_FR_DID}|e j['’]a(?:i|vais) {_FR_DID}|e je (?:t['’]|vous )a(?:i|vais) {_FR_DID}"
    rf"|e tu (?:sais|as {_FR_DID})|e vous (?:savez|avez {_FR_DID})) {_FR_ABOUT}"
)
_FR_NAMED = (
    r"(?:(?:les?|la|ma|ta|tes|mes|notre|cette) (?:règle|consigne|préférence|instruction|souvenir|mémoire)s? "
    rf"(?:{_FR_ABOUT}|qui dit (?:que |qu['’]|de |d['’]))|cette histoire d(?:e |['’]))"
)
_FR_MEMORY = r"(?:de (?:ta |votre |la )?mémoire)"
_FRENCH = (
    _forget(
        rf"(?:oubli(?:e[rsz]?|iez)|annule[rz]?|ignore[rz]?) (?:{_FR_SAID}|{_FR_NAMED}){_TEXT}{_END}"
    ),
    _forget(
        rf"(?:supprime|efface|enlève|enleve|retire)[rsz]? (?:{_FR_MEMORY}[,:]? (?:{_FR_SAID}|{_FR_NAMED}|que |qu['’])?"
        rf"|{_FR_SAID}|(?:les?|la|ton|tes) (?:souvenir|mémoire|règle)s? {_FR_ABOUT}){_TEXT}{_END}"
    ),
    _forget(
        r"(?:ne |n['’])?(?:(?:te |vous )?(?:retiens|retenez|souviens|souvenez|mémorise[sz]?) (?:plus|pas)"
        r"|arrête[rz]? de (?:te |vous )?(?:souvenir|rappeler|retenir)|(?:il (?:ne )?faut|tu (?:ne )?dois) plus (?:te |vous |t['’])?(?:souvenir|rappeler|retenir)) "
        rf"(?:que |qu['’]|des? |du |d['’]){_TEXT}{_END}"
    ),
    _forget(r"oubli(?:e[rsz]?|iez) (?:que |ce que j['’]ai dit )(?P<text>.{5,})"),
)

_ES_ABOUT = r"(?:sobre|acerca del?|respecto al?|para|con|del?)(?: (?:los|las|el|la))? "
_ES_SAID = (
    r"(?:todo )?lo que (?:(?:te |le |os )?(?:dije|dijimos|hablamos|he dicho|había dicho|conté|pedí|comenté)|sabes?|recuerdas?|guardaste|"
    rf"has guardado|aprendiste) {_ES_ABOUT}"
)
_ES_NAMED = (
    r"(?:(?:la|las|mi|tu|el|nuestra) (?:regla|norma|preferencia|instrucción|memoria|recuerdo)s? "
    rf"(?:{_ES_ABOUT}|(?:de que|que dice que) ))"
)
_ES_MEMORY = r"de (?:tu|la|su) memoria"
_ES_FORGET = r"(?:olv[ií]d(?:a|ar|ad|a?r?te|e|es|en|ese|ense)|ignora|anula)(?: de)? "
_ES_DELETE = r"(?:(?:borr|elimin|quit)(?:a|ar|e|es|en)|saca|suprime) "
_ES_VOID = r", (?:eso )?ya no (?:aplica|vale|sirve|hace falta)\b.*"
_SPANISH = (
    _forget(rf"{_ES_FORGET}(?:{_ES_SAID}|{_ES_NAMED}){_TEXT}{_END}"),
    _forget(
        rf"{_ES_FORGET}(?:lo|eso|aquello) del? (?:(?:los|las|el|la) )?(?P<text>(?!.*\bpor ahora\b)[^,]{{2,60}}?)(?:{_ES_VOID})?{_END}"
    ),
    _forget(rf"olv[ií]da(?:te|rte)? (?:del?|el|la|los|las) (?P<text>[^,]{{2,60}}?){_ES_VOID}"),
    _forget(
        rf"{_ES_DELETE}(?:{_ES_MEMORY}[,:]? (?:{_ES_SAID}|{_ES_NAMED}|que )?|{_ES_SAID}"
        rf"|(?:la|tu|el|los|las) (?:memoria|recuerdo|regla)s? {_ES_ABOUT}){_TEXT}{_END}"
    ),
    _forget(rf"(?:ya no recuerde?s?|no recuerdes más|deja de recordar) que {_TEXT}{_END}"),
    _forget(r"olvida (?:que|lo que dije|lo que te dije) (?P<text>.{5,})"),
)

_PT_ABOUT = (
    r"(?:sobre|acerca d[aeo]s?|a respeito d[aeo]s?|quanto a[os]?|para|d[aeo]s?)(?: (?:os?|as?))? "
)
_PT_SAID = (
    r"(?:tudo )?(?:o |aquilo )?que (?:eu )?(?:já )?(?:(?:te |lhe )?(?:disse|dissemos|falei|falamos|combinamos|contei|pedi|expliquei)|(?:você |tu )?(?:sabes?|"
    rf"lembras?|guardou|guardaste|aprendeu|salvou)) {_PT_ABOUT}"
)
_PT_NAMED = (
    r"(?:(?:as?|minha|sua|tua|nossa|essa) (?:regra|norma|preferência|instrução|memória|lembrança)s? "
    rf"(?:{_PT_ABOUT}|que diz (?:que|para) ))"
)
_PT_MEMORY = r"da (?:sua |tua |minha )?memória"
_PT_FORGET = r"(?:esque[cç](?:e|a|er|as|es)(?:-se)?|ignore|anule)(?: de)? "
_PT_DELETE = (
    r"(?:apag(?:a|ar|ue|ues)|remov(?:a|as|e|er)|tir(?:a|e|es|ar)|exclu(?:a|i|ir)|delet(?:a|e|ar)) "
)
_PORTUGUESE = (
    _forget(rf"{_PT_FORGET}(?:{_PT_SAID}|{_PT_NAMED}){_TEXT}{_END}"),
    _forget(
        r"esque[cç][aeo]r? (?:(?:aquilo|isso|essa coisa|aquela coisa|essa história) d[aeo]s?) ",
        rf"(?P<text>[^,]{{2,60}}?){_END}",
    ),
    _forget(
        rf"{_PT_DELETE}(?:{_PT_MEMORY}[,:]? (?:{_PT_SAID}|{_PT_NAMED}|que )?|{_PT_SAID}"
        rf"|(?:as?|sua|tua) (?:memória|lembrança|regra)s? {_PT_ABOUT}){_TEXT}{_END}"
    ),
    _forget(rf"esque[cç](?:e|a|er) que {_TEXT}{_END}"),
    _forget(
        rf"(?:não (?:se |te )?(?:lembr|record|guard)[ae]s? mais|par[ae] de (?:se )?lembrar)(?: de)? que {_TEXT}{_END}"
    ),
)

_IT_OF = r"d(?:ello|ella|egli|elle|ell['’]|el|ei|i)"
_IT_ABOUT = rf"(?:su(?:llo|lla|gli|lle|ll['’]|l|i)?|{_IT_OF}|riguardo a(?:l|lla|i|lle)?|a proposito {_IT_OF}|per) ?"
_IT_SAID = (
    r"(?:tutto )?(?:quello|ciò|quanto) (?:che )?(?:(?:ti |vi )?(?:ho|avevo|abbiamo) (?:detto|chiesto|raccontato|spiegato)|sai|ricordi|"
    rf"hai (?:salvato|memorizzato|imparato|annotato)) {_IT_ABOUT}"
)
_IT_NAMED = rf"(?:(?:la|le|il|i|mia|quella|nostra) (?:regol|preferenz|istruzion|memori|indicazion|ricord)[aeio] (?:{_IT_ABOUT}|che dice (?:di|che) ))"
_IT_MEMORY = r"dalla (?:tua )?memoria"
_IT_FORGET = r"(?:(?:dimentic|scord)(?:a|are|ati|ate|arti|hi)|lascia perdere) "
_IT_DELETE = r"(?:(?:cancell|elimin)(?:a|are|i)|rimuov(?:i|ere|a)|togli(?:ere)?|tolga) "
_IT_VOID = r"(?:, non (?:vale|serve) più.*)?"
_ITALIAN = (
    _forget(rf"{_IT_FORGET}(?:{_IT_SAID}|{_IT_NAMED}){_TEXT}{_IT_VOID}{_END}"),
    _forget(
        rf"{_IT_FORGET}(?:la storia|la cosa|quella cosa|quella storia) {_IT_OF} ?(?P<text>[^,]{{2,60}}?){_IT_VOID}{_END}"
    ),
    _forget(
        rf"(?:dimenticati|scordati) {_IT_OF} ?(?P<text>[^,]{{2,60}}?), non (?:vale|serve) più.*"
    ),
    _forget(
        rf"{_IT_DELETE}(?:{_IT_MEMORY}[,:]? (?:{_IT_SAID}|{_IT_NAMED}|che )?|{_IT_SAID}"
        rf"|(?:il|i|la|le) (?:ricordo|ricordi|memoria|memorie) {_IT_ABOUT}){_TEXT}{_END}"
    ),
    _forget(
        rf"(?:non (?:ti )?ricordar(?:e|ti) più|smetti(?:la)? di ricordare|dimentica) che {_TEXT}{_END}"
    ),
)

_RU_ABOUT = r"(?:про|об?о?|насч[её]т|по поводу|относительно) "
_RU_SAID = (
    r"(?:о том,? |то,? |вс[её],? )?(?:что|о ч[её]м) (?:я (?:тебе |вам )?(?:говорил|сказал|писал|просил|рассказывал)а?|мы (?:говорили|обсуждали|решили)|ты (?:знаешь|"
    rf"помнишь|запомнил|записал|сохранил)а?|вы (?:знаете|помните|запомнили)) {_RU_ABOUT}"
)
_RU_NAMED = (
    rf"(?:(?:это |мо[её] |наше )?(?:правило|указание|воспоминание|запись|память) {_RU_ABOUT})"
)
_RU_MEMORY = r"из (?:своей |твоей |вашей )?памяти"
_RU_FORGET = r"(?:пожалуйста,? )?(?:забудь(?:те)?|забыть|(?:я )?хочу, чтобы (?:ты|вы) забыл[аи]?|отмени(?:те)?),? "
_RU_DELETE = r"(?:пожалуйста,? )?(?:удали|сотри|убери|удалить|стереть)(?:те)? "
_RU_VOID = (
    r"(?:, (?:это |он[ао]? )?(?:больше|уже) не (?:нужно|нужна|нужен|действует|актуально)\b.*)?"
)
_RUSSIAN = (
    _forget(rf"{_RU_FORGET}(?:{_RU_SAID}|{_RU_NAMED}){_TEXT}{_RU_VOID}{_END}"),
    _forget(
        rf"{_RU_DELETE}(?:{_RU_MEMORY},? (?:{_RU_SAID}|{_RU_NAMED}|что )|{_RU_SAID}"
        rf"|(?:память|воспоминание|запись|правило) {_RU_ABOUT}){_TEXT}{_END}"
    ),
    _forget(
        rf"(?:больше не (?:помни|запоминай|держи в памяти)|перестань(?:те)? помнить)(?:те)?,? что {_TEXT}{_END}"
    ),
    _forget(
        rf"{_RU_FORGET}(?:что |о том, что |про )(?P<text>(?!.*, (?:теперь|сейчас)\b).{{5,}}?){_RU_VOID}{_END}"
    ),
)

_ZH_FORGET = r"(?:忘掉|忘记|忘了)"
_ZH_DELETE = r"(?:删掉|删除|移除|清除|去掉|清掉|删了)"
_ZH_ABOUT = r"(?:关于|有关)?"
_ZH_THING = r"(?:的)?(?:那些|那个|那条|这条)?(?:话|事情?|内容|东西|一切|规定|规则|要求|说法)?"
_ZH_SAID = r"(?:我|你)(?:之前|以前|刚才|上次)?(?:跟你|对你|和你|向你)?(?:说过?|讲过?|提过?|告诉你|记住|记下|保存|知道)了?的?"
_ZH_ASKED = r"吧?[吗嘛]?[。！!？?\s]*$"
_CHINESE = (
    _forget(rf"(?:{_ZH_FORGET}|{_ZH_DELETE}){_ZH_SAID}{_ZH_ABOUT}{_TEXT}{_ZH_THING}{_ZH_ASKED}"),
    _forget(
        rf"把(?:{_ZH_SAID})?{_ZH_ABOUT}{_TEXT}{_ZH_THING}(?:都|全)?(?:给)?{_ZH_FORGET}{_ZH_ASKED}"
    ),
    _forget(
        rf"(?:把)?{_TEXT}(?:的)?(?:那条|这条)?(?:规则|规定)?从(?:你的)?记忆(?:里|中)?{_ZH_DELETE}{_ZH_ASKED}"
    ),
    _forget(
        rf"从(?:你的)?记忆(?:里|中)?{_ZH_DELETE}[\s:：，,]*{_ZH_ABOUT}{_TEXT}{_ZH_THING}{_ZH_ASKED}"
    ),
    _forget(
        rf"(?:之前|以前)?{_ZH_ABOUT}{_TEXT}的?(?:要求|规则|规定)(?:作废|取消|不再适用|不用管)了?[，,]?(?:{_ZH_FORGET})?{_ZH_ASKED}"
    ),
    _forget(rf"{_ZH_FORGET}{_ZH_ABOUT}{_TEXT}的(?:规则|规定|要求){_ZH_ASKED}"),
    _forget(rf"{_ZH_FORGET}(?P<text>(?:我|关于|那条|之前|以前).{{3,}})"),
    _forget(r"(?:不用|不要|别|不必)再?(?:记住|记着|记得)(?P<text>.{2,}?)了?[。！!\s]*$"),
    _forget(
        rf"{_ZH_FORGET}(?P<text>.{{2,30}}?)(?:那件事|这件事|那条规则|这条规则|那个规则|的事){_ZH_ASKED}"
    ),
    _forget(rf"把(?P<text>.{{2,60}}?)(?:的|那条|这条)*记忆(?:给)?(?:{_ZH_DELETE}|{_ZH_FORGET})"),
    _forget(rf"{_ZH_DELETE}(?:关于|有关)?(?P<text>.{{2,60}}?)的?(?:那条|这条)?记忆"),
)

_JA_SAID = (
    r"(?:について|に関して|のことで|の)(?:私が|僕が|前に|以前|さっき)*(?:言った|話した|伝えた|頼んだ|知っている|知ってる|覚えた|覚えている|覚えてる|"
    r"記憶した|記憶している|保存した)(?:こと|もの|内容|話)?"
)
_JA_NAMED = r"(?:に関する|について|の|という)(?:ルール|規則|決まり|記憶|話|件|こと|好み|方針)"
_JA_ALL = r"(?:を|は)?(?:全部|すべて|全て|もう|、)*"
_JA_FORGET = r"(?:忘れて|覚えなくて)"
_JA_DELETE = r"(?:消して|削除して|消去して|取り除いて)"
_JA_MEMORY = r"記憶から"
_JA_TAIL = r"[^、,]{0,12}$"
_JAPANESE = (
    _forget(rf"(?P<text>.{{1,60}}?){_JA_SAID}{_JA_ALL}(?:{_JA_FORGET}|{_JA_DELETE}){_JA_TAIL}"),
    _forget(
        rf"(?P<text>.{{1,60}}?)(?:{_JA_NAMED}|という(?:こと|の)|(?:こと|の))?(?:を|は)?{_JA_MEMORY}(?:{_JA_FORGET}|{_JA_DELETE}){_JA_TAIL}"
    ),
    _forget(
        rf"(?:(?:さっき|前|以前|先ほど)の)?(?P<text>.{{1,60}}?){_JA_NAMED}{_JA_ALL}{_JA_FORGET}{_JA_TAIL}"
    ),
    _forget(rf"(?P<text>.{{1,60}}?)の記憶{_JA_ALL}{_JA_DELETE}{_JA_TAIL}"),
    _forget(
        r"(?P<text>.{5,60}?)(?:という(?:記憶|こと)は|のことは|は)もう(?:忘れて|覚えなくていい)"
    ),
)

EVERYTHING = (
    r"(?:(?:absolutely )?everything(?: (?:that )?(?:you|i) (?:know|remember|(?:have )?(?:saved|stored|learned|told you|said))"
    r"(?: (?:here|so far|until now))?)?|(?:all|every one) (?:of )?(?:my |your |the )?(?:memor(?:y|ies)|notes about me)|(?:your (?:whole |entire )?|my |the (?:whole |entire ))memory"
    r"|tout|toute? (?:ta|la|votre) mémoire|tous (?:tes|les|mes|vos) souvenirs|ta mémoire"
    r"|alles|alle (?:deine )?erinnerungen|(?:dein|das)(?: ganzes?| gesamtes)? gedächtnis"
    r"|toda? (?:tu|la|su) memoria|todo|todos (?:tus|los|mis) recuerdos|todas (?:tus|las|mis) memorias|tu memoria"
    r"|tudo|toda a (?:sua |tua )?memória|todas as (?:suas )?(?:memórias|lembranças)|(?:a )?(?:sua|tua) memória"
    r"|tutto|tutta la (?:tua )?memoria|tutti i (?:tuoi )?ricordi|la tua memoria"
    r"|вс[её]|всю (?:свою )?память|все (?:свои )?воспоминания|(?:свою|твою) память"
    r"|一切|所有(?:的)?(?:记忆|内容|东西)?|全部(?:记忆)?|(?:你的)?(?:所有|全部)?记忆"
    r"|(?:記憶)(?:を)?(?:全部|すべて|全て)|(?:すべて|全て|全部)(?:の記憶)?(?:を)?)"
)
"""What a request names that means every memory."""
_ALL_ORDERS = (
    r"(?:please )?(?:forget|delete|erase|wipe|clear|reset|remove|purge)|oubli(?:e[rsz]?|iez)|efface[rz]?|supprime[rz]?|vide|vergiss|vergessen sie|lösche?"
    r"|olvida(?:r|te de)?|borra(?:r)?|elimina(?:r|re)?|esque[cç](?:e|a|er)|apag(?:a|ar|ue)|dimentica(?:re)?|cancella(?:re)?|забудь(?:те)?|сотри(?:те)?"
    r"|удали(?:те)?|очисти(?:те)?"
)
_EVERYTHING_PATTERNS = (
    _forget(
        rf"(?:{_ALL_ORDERS}) (?P<text>{EVERYTHING})(?:,? (?:please|bitte|s['’]il te plaît|por favor|per favore|пожалуйста))?{_END}"
    ),
    _forget(rf"(?:{_ZH_FORGET}|{_ZH_DELETE}|清空|清除)(?P<text>{EVERYTHING}){_ZH_ASKED}"),
    _forget(rf"(?P<text>{EVERYTHING})(?:{_JA_FORGET}|{_JA_DELETE}){_JA_TAIL}"),
)

FOREIGN_FORGET_PATTERNS: tuple[StatementPattern, ...] = (
    *_EVERYTHING_PATTERNS,
    *_GERMAN,
    *_FRENCH,
    *_SPANISH,
    *_PORTUGUESE,
    *_ITALIAN,
    *_RUSSIAN,
    *_CHINESE,
    *_JAPANESE,
)

_PLEASE = r"(?:(?:s['’]il (?:te|vous) plaît|por favor|per favore|per piacere|bitte|пожалуйста|お願いです)[,、]? ?)?"
POLITE_BEGINNING = (
    rf"{_PLEASE}(?:(?:can|could|would|will) you (?:please |also |just |kindly )*(?=(?:forget|delete|remove|erase)\b)"
    r"|(?:i (?:want|would like|need)|i['’]d like) you to (?=(?:forget|delete|remove|erase)\b)"
    r"|(?:du )?(?:kannst|könntest|darfst|sollst)(?: du)? (?:bitte |mal |ruhig )*(?=.*\b(?:vergessen|löschen|streichen)\b)"
    r"|ich (?:möchte|will|hätte gern),? dass du (?=vergisst\b)"
    r"|(?:(?:tu |vous )?(?:peux|pourrais|pouvez|pourriez)(?:-tu|-vous)? |(?:je (?:veux|voudrais|souhaite)|j['’]aimerais) que (?:tu|vous) |merci d['’e] ?)"
    rf"{_PLEASE}(?=(?:oubli|supprim|effac|enlev|enlèv|retir))"
    r"|¿?(?:podrías|puedes|podés|(?:quiero|quisiera|necesito|me gustaría) que) (?=(?:olvid|borr|elimin|quit))"
    r"|(?:(?:você |tu )?pod(?:e|es|eria)|(?:quero|gostaria|preciso) que (?:você|tu)) (?=(?:esque|apag|remov|tir))"
    r"|(?:puoi|potresti|può|(?:voglio|vorrei) che(?: tu)?) (?=(?:dimentic|scord|cancell|rimuov|elimin|togli))"
    r"|(?:ты )?(?:можешь|можете|мог бы|могли бы) (?:пожалуйста )?(?=(?:забы|удал|стер))"
    r"|(?:能不能|可不可以|你能|能否|可以|我(?:希望|想|要)你) ?(?=(?:忘|删|把|从))"
    r"|(?=.*(?:忘れて|消して|削除して)(?:くれ|もらえ|いただけ))"
    r"|(?<=[,、 ])(?=(?:oubli|supprim|effac|enlèv|olv[ií]d|borr|elimin|esque|apag|remov|dimentic|scord|cancell|togli|vergiss|lösch|забуд|удал)))"
)
"""A beginning that asks or wishes politely; what follows is the request."""
