"""What people ask for, report or wish at the moment, in German, French, Spanish, Portuguese, Russian,
Chinese and Japanese. Pure.

The score of these languages (`written_rule_score`) was fitted on what is written in files and takes
much of a conversation for a rule; a sentence of these kinds does not wait by its score alone.
"""

from __future__ import annotations

import re

from memorist.core.lazy import lazy_pattern

_LASTS = lazy_pattern(
    r"\b(?:immer|nie|niemals|stets|künftig|grundsätzlich|jede[nmrs]?|bevor|toujours|jamais|chaque|désormais|avant de|siempre|nunca|cada|antes de|sempre|jamais|"
    r"toda vez|всегда|никогда|кажд\w+|впредь|перед)\b|以后|今后|永远|总是|一律|每次|都|必须|不要|别|常に|必ず|いつも|毎回",
    re.IGNORECASE,
)
"""Says that it holds again and again."""
_THANKS = (
    r"(?:(?:vielen |muchas |many )?(?:danke|gracias|merci|obrigad[oa])|спасибо|谢谢|ありがとう)"
)
_WISH = (
    r"(?:eu )?(?:quero|queria|gostaria)(?: de)? (?:fazer|criar|mudar|colocar|ver|um|uma|o|a|que (?:você|vc|tu))\b"
    r"|(?:yo )?(?:quiero|quisiera|me gustaría) (?:hacer|crear|cambiar|agregar|poner|ver|una?|el|la|que (?:hagas|me|lo|la|el))\b"
    r"|je (?:veux|voudrais) (?:faire|créer|ajouter|changer|voir|une?|le|la|que tu)\b|ich (?:will|möchte|würde gern)\b(?!.*\b(?:nicht|keine?n?)\b)|(?:я )?хочу\b(?! чтобы)|我(?:想|要)"
)
_DEED = (
    r"(?:tu )?(?:vide|supprime|ajoute|crée|fais|corrige|change|mets|remets|pousse|lance|relance|vérifie|regarde|continue|enlève|retire|renomme|déplace|termine|finis|commence|"
    r"montre|explique)[sz]?(?:[- ]moi)? (?:les? |la |l['’]|ce|cette |tout|une? |tes? |ta |mes? |mon |ma |sur |à )"
    r"|(?:haz|crea|agrega|añade|borra|elimina|cambia|arregla|corrige|revisa|mira|sube|continúa|sigue|quita|pon|genera|actualiza|ejecuta|corre|implementa|termina|muestra|"
    r"explica)(?:me)? (?:el|las?|los|una?|est[aeo]s?|es[ae]s?|tod[oa]s?|mi|tu|con|en)\b"
    r"|(?:faça|faz|crie|cria|adicione|adiciona|remova|remove|apague|mude|muda|corrija|corrige|verifique|verifica|olhe|olha|suba|continue|continua|documente|escale|gere|"
    r"atualize|implemente|termine|coloque|coloca|mostre|explique) (?:os?|as?|uma?|ess[ea]s?|est[ea]s?|tudo|todo|meus?|minhas?|plano|agora|coordenando|um\w+)\b"
    r"|(?:bitte )?(?:mache?|erstelle?|füge?|lösche?|ändere?|korrigiere?|prüfe?|schaue?|baue?|räume?|starte?|fang|zeige?|gib|setze?|entferne?|implementiere?|erkläre?|schreibe?)(?: mal| jetzt| bitte| mir)* "
    r"(?:den|die|das|dem|der|eine?n?|alle|es|fertig|weiter|hier|diese\w*|nochmal|an|auf|alle \d+)\b"
    r"|(?:пожалуйста,? )?(?:сделай|создай|добавь|удали|исправь|измени|проверь|посмотри|запусти|продолжи|поправь|убери|перенеси|покажи|напиши|обнови|переименуй|реализуй|"
    r"начни|найди|объясни|расскажи|подготовь|составь)(?:те)?\b"
    r"|(?:请|帮我|麻烦|直接|先)*(?:模仿|试着|試|试一|增加|新增|添加|删除|移除|去掉|修改|修复|实现|生成|写一|做一|加一|改一|继续|看一?下|检查一?下|分析一?下|把)"
    r"|.*(?:に取り掛かって|を実装して|に入って|を進めて|進めて|してみて|やってみて)(?:ください|下さい)?[。！!]*$|.*(?:しないの|じゃないの|のでは|でしょうか)[。？?]*$"
)
_REPORT = (
    r"(?:das |es )?(?:wirkt|sieht (?:so )?aus|scheint|funktioniert|geht nicht|läuft nicht|klappt)\b|wenn es so ?weit\b|(?:klar|sonst|vielleicht|das würde|ich werde)\b|ich habe (?:heute|gerade|jetzt|schon)\b"
    r"|não (?:tem|há|tá|está|funciona|aparece|consigo|sei|entendi|deu)\b|no (?:hay|está|funciona|aparece|puedo|sé|entiendo|veo|tiene)\b"
    r"|(?:ça|il|elle|ce) (?:ne )?(?:marche|fonctionne|s['’]affiche)|je (?:vois|sens|comprends|ne vois)\b|не (?:работает|вижу|понял|понимаю)\b"
)
_ORDER_OF_WORK = (
    r".*\b(?:en dernier|en premier|d['’]abord|ensuite|primero|después|luego|primeiro|depois|zuerst|zuletzt|danach|сначала|потом|затем)\b.*\b(?:on|nous|wir|vamos|"
    r"vemos|a gente|мы)\b"
)
_OF_THE_MOMENT = lazy_pattern(
    rf"(?:{_THANKS}|{_WISH}|{_DEED}|{_REPORT}|{_ORDER_OF_WORK})", re.IGNORECASE
)


def is_foreign_task(masked: str) -> bool:
    """Whether a sentence asks for one deed, reports, wishes or thanks, and says nothing that lasts."""
    return _OF_THE_MOMENT.match(masked) is not None and _LASTS.search(masked) is None
