"""Secrets of a person rather than of a program: numbers of accounts and cards, PINs and codes, keys
of wireless networks, recovery phrases of wallets (SF-1). Pure.

A number is one by its check digits or by the words beside it; a phrase or a list of codes by the
words beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import parse_word_list
from memorist.safety.chosen_passwords import is_random_or_chosen_password, may_be_chosen_password
from memorist.safety.safety_finding import SafetyFinding

_IBAN_LENGTHS = {
    one[:2].upper(): int(one[2:])
    for one in parse_word_list(
        """
        ad24 ae23 al28 at20 az28 ba20 be16 bg22 bh22 br29 by28 ch21 cr22 cy28 cz24 de22 dk18 do28
        ee20 eg29 es24 fi18 fo18 fr27 gb22 ge22 gi23 gl18 gr27 gt28 hr21 hu28 ie22 il23 iq23 is26
        it27 jo30 kw30 kz20 lb28 lc32 li21 lt20 lu20 lv21 mc27 md24 me22 mk19 mr27 mt31 mu30 nl18
        no15 pk24 pl28 ps29 pt25 qa29 ro24 rs22 sa24 sc31 se24 si19 sk24 sm27 st25 sv28 tl23 tn24
        tr26 ua29 va22 vg24 xk20
        """
    )
}
"""By country, the characters of an account number (ISO 13616)."""
_IBAN = lazy_pattern(r"(?<![A-Za-z0-9+/_-])[A-Z]{2}\d\d(?:[ -]?[A-Z0-9]){11,28}")
_CARD = lazy_pattern(
    r"(?<![\w.+/-])(?:\d{4}([ -])\d{4}\1\d{4}\1\d{4}|3\d{3}([ -])\d{6}\2\d{5}|\d{15,16})"
    r"(?![\w/-]|\.\d|[ ]\d{4})"
)
_CARD_WORD = lazy_pattern(
    r"(?<![a-z])(?:card|visa|amex|mastercard|kredit|karte|tarjeta|cart[ãa]o|carte|carta|cv[cv]|iin"
    r"|kaart|карт)|卡|カード|카드",
    re.IGNORECASE,
)
_CARD_REACH = 60
_FEWEST_DIGITS = 4
"""Different digits of a card's number: those that providers publish for tests have fewer."""
CHECKED_NUMBERS = (
    *(f"{country}00" for country in _IBAN_LENGTHS),
    "0000 0000 0000 0000", "0000-0000-0000-0000", "0000 000000 00000", "0000-000000-00000",
    "000000000000000",
)  # fmt: skip
"""Forms of numbers with check digits, each digit a 0."""


def find_checked_number(text: str, at: int) -> Iterator[SafetyFinding]:
    """The number of an account or a card, if its check digits are right."""
    if text[at].isalpha():
        found = _IBAN.match(text, at)
        end = found and _find_iban_end(text, at, found.end())
        if end:
            yield SafetyFinding(at, end, "bank-account")
        return
    found = _CARD.match(text, at)
    if found is None or not _is_card_number(found[0]):
        return
    around = text[max(0, at - _CARD_REACH) : found.end() + _CARD_REACH]
    if not found[0].isdigit() or _CARD_WORD.search(around):
        yield SafetyFinding(*found.span(), "card-number")


def _find_iban_end(text: str, start: int, stop: int) -> int:
    """Where an account number ends whose check digits are right; 0 for none."""
    size, number, end = _IBAN_LENGTHS[text[start : start + 2]], "", start
    while len(number) < size and end < stop:
        number += text[end].strip(" -")
        end += 1
    if len(number) < size or text[end : end + 1].isalnum():
        return 0
    digits = "".join(str(int(sign, 36)) for sign in number[4:] + number[:4])
    return end if int(digits) % 97 == 1 and len(set(number[4:])) > 2 else 0


def _is_card_number(written: str) -> bool:
    digits = [int(sign) for sign in written if sign.isdigit()]
    total = sum(
        digit if number % 2 == 0 else sum(divmod(2 * digit, 10))
        for number, digit in enumerate(reversed(digits))
    )
    return 2 <= digits[0] <= 6 and total % 10 == 0 and len(set(digits)) >= _FEWEST_DIGITS


_PIN = lazy_pattern(
    r"(?<![\w-])(?:(?P<owner>(?:my|our|the|card|phone|sim|door|alarm|mein|meine|die|der|mi|mon|meu)"
    r"[ -])?pin(?:[ -]?(?:code|number|nummer))?"
    r"(?:[ ](?:for|of|on|to|für|vom|von|der|des|zu|de|del|della|di|da|do|du|pour)"
    r"[ ](?:[^\W\d]{1,15}[ ]?){1,3}?(?=[ ]?\S{1,8}[ ]?\d|[:=]))?)[ ]?"
    r"(?P<sign>[:=]|is(?: now)?|ist|lautet|est|es|é|è|war|was)?[ ]?"
    r"(?P<value>\d{4,8})(?![\w-]|[.,]\d)",
    re.IGNORECASE,
)
_CODE = lazy_pattern(
    r"codes?[\"'*]{0,3}(?:[ ](?:for|of|on|to|für|de|del|di|pour)[ ](?:[^\W\d]{1,15}[ ]?){1,3}?)?"
    r"[ ]?(?:[:=#]|is(?: now)?|ist|lautet|est|es|é|è|was)[ ]?[\"'*]{0,3}"
    r"(\d[\d-]{3,8}[#*]?|(?!test|code|your|demo|fake)(?=[a-z-]*\d)[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,4})(?![\w-]|\.\d)",
    re.IGNORECASE,
)
_FOREIGN_CODE = lazy_pattern(r"\D{0,6}?[はがを是为為:：은는— -]{1,3}(?:это )?(\d{4,8}[#*]?)(?!\d)")
FOREIGN_CODES = (
    "暗証番号", "確認コード", "認証コード", "验证码", "驗證碼", "校验码", "取件码", "门禁密码",
    "인증번호", "인증 코드", "ПИН", "пин-код", "ПИН-код", "Пин-код", "код подтверждения",
    "код доступа", "код від", "код от",
)  # fmt: skip
FOREIGN_PHRASES = (
    "助记词", "助記詞", "シードフレーズ", "リカバリーフレーズ", "復元フレーズ", "ニーモニック",
    "시드 문구", "복구 문구", "니모닉", "Wörter für die Wallet",
    *(
        form
        for name in ("seed-фраз", "сид-фраз", "фраза восстанов", "фразу восстанов", "мнемоник")
        for form in (name, name.capitalize(), name.upper())
    ),
)  # fmt: skip
"""Words outside ASCII that name a recovery phrase, in the capitals that texts have: they are looked
for as such.
"""
_COUNTED_UP = "0123456789876543210"


def _pin(text: str, at: int) -> Iterator[SafetyFinding]:
    for found in _PIN.finditer(text, max(0, at - 8), at + 60):
        is_named = found["sign"] or found["owner"] or text[at : at + 3] == "PIN"
        is_year = found["value"][:2] in {"19", "20"} and len(found["value"]) == 4
        if is_named and _is_code(found["value"]) and (found["sign"] or not is_year):
            yield SafetyFinding(*found.span("value"), "pin")
        return


def _code(text: str, at: int) -> Iterator[SafetyFinding]:
    found = _CODE.match(text, at + text[at : at + 40].lower().rfind("code", 0, 24))
    if found and _is_code(found[1]):
        yield SafetyFinding(*found.span(1), "code")


def find_code_after_foreign_word(text: str, at: int, word: str) -> Iterator[SafetyFinding]:
    """A number behind a word outside ASCII that names a PIN or a code."""
    found = _FOREIGN_CODE.match(text, at + len(word))
    if found and _is_code(found[1]):
        yield SafetyFinding(*found.span(1), "code")


def _is_code(value: str) -> bool:
    """No number that stands for one, such as 1234 or 0000."""
    return value not in _COUNTED_UP and len(set(value)) > 1


_LIST_BEGINNING = lazy_pattern(r"[^\n\d:]{0,60}(?:[:=]\s{0,4}|\n\s{0,4}|[ ](?=\d))")
_LISTED_CODE = lazy_pattern(
    r"(?:[\s,;|\"'`\[\]*•-]|\d{1,2}[.)][ ]){0,12}"
    r"(\d{4}[ ]\d{4}|(?=[A-Za-z-]*\d)[A-Za-z0-9]{3,10}(?:-[A-Za-z0-9]{3,8}){0,4})(?![\w.:/-])"
)
_MOST_CODES = 20
_SIGN_OF_CODE = lazy_pattern(r"[A-Za-z0-9]")


def _code_list(text: str, at: int) -> Iterator[SafetyFinding]:
    """The one-time codes that follow: two or more of the same form, of eight characters or more."""
    begin = _LIST_BEGINNING.match(text, at)
    spans: list[tuple[int, int]] = []
    end, form = begin.end() if begin else at, ""
    while begin and len(spans) < _MOST_CODES and (found := _LISTED_CODE.match(text, end)):
        this = _SIGN_OF_CODE.sub("a", found[1])
        if (form and this != form) or this.count("a") < 8:
            break
        form, end = this, found.end()
        spans.append(found.span(1))
    if len(spans) > 1:
        yield from (SafetyFinding(*span, "backup-code") for span in spans)


_OTP_SEED = lazy_pattern(
    r"(?:(?:otp|2fa|mfa)[ _-](?:seed|secret|key)|(?:setup|authenticator|entry)[ ]key)"
    r"[ ]?(?:[:=]|is|ist)?[ ]?([A-Z2-7]{16,64}|(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4})(?![\w])",
    re.IGNORECASE,
)


def _otp_seed(text: str, at: int) -> Iterator[SafetyFinding]:
    """What an authenticator makes its codes of: capitals, or groups of four with a digit, which
    words of four letters are not.
    """
    found = _OTP_SEED.match(text, at)
    if found is None or len(set(found[1])) <= 5:
        return
    if found[1].isupper() if found[1].isalnum() else any(map(str.isdigit, found[1])):
        yield SafetyFinding(*found.span(1), "otp-seed")


_WIFI = lazy_pattern(r"wifi:(?=[TSPHREAI]:)(?=[^\n]{0,300};)", re.IGNORECASE)
_WIFI_KEY = lazy_pattern(r"(?<=[:;])P:((?:\\.|[^;\\\n]){1,128});")
_ESCAPED = lazy_pattern(r"\\.")
_WIRELESS_KEY = lazy_pattern(
    r"(?:wlan|wi-?fi|wpa[23]?|hotspot|netzwerk|network)[ -]?(?:netzwerk|network)?[ -]?"
    r"(?:schl(?:ü|ue)ssel|key|code|pw|pass)[\"'*]{0,3}"
    r"(?: (?:for|of|im|vom|für) [^\W\d]{1,15}(?: [^\W\d]{1,15})?)?"
    r"(?:[ ]?[:=]|[ ](?:is|ist|lautet)|(?=[ ]))[ ]?[\"'*]{0,3}"
    r"((?!wpa\d|wep)(?=[^\s\"']*\d)[^\s\"',;]{8,63})",
    re.IGNORECASE,
)


def _wifi_line(text: str, at: int) -> Iterator[SafetyFinding]:
    begin = _WIFI.match(text, at)
    found = _WIFI_KEY.search(text, begin.end() - 1, at + 300) if begin else None
    if found and may_be_chosen_password(_ESCAPED.sub("x", found[1])):
        yield SafetyFinding(*found.span(1), "wireless-key")


def _wireless_key(text: str, at: int) -> Iterator[SafetyFinding]:
    found = _WIRELESS_KEY.match(text, at)
    if found and is_random_or_chosen_password(found[1].rstrip(".!?")):
        yield SafetyFinding(*found.span(1), "wireless-key")


_WORD = r"(?:[a-zß-öø-ÿа-яё]{3,9}|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]{1,9})"
"""A word of a list for phrases, in the alphabets that such lists have."""
_PHRASE = lazy_pattern(
    rf"(?<![^\W\d_])(?:(?:\d{{1,2}}[.):]?[ \t]?)?{_WORD}[\"']?"
    r"(?:[ \t]?[,、\n][ \t\"']{0,4}|[ \t\u3000]{1,4})){11,23}"
    rf"(?:\d{{1,2}}[.):]?[ \t]?)?{_WORD}(?![^\W\d_])"
)
_NO_PHRASE = lazy_pattern(
    r"\b(?:the|and|are|was|were|for|from|with|not|but|has|had|its|which|each|used|using|our|their|les|des|und|die|der|das|los|las|que|для|что|как|это|или"
    r"|[가-힣]*(?:는|를|에서|에게|으로|까지|부터|마다|처럼|하고|하지|해서|해야|세요|니다|도록))\b"
)
"""Words that are in no list of words for phrases (BIP 39), and in most sentences; of Korean ones,
their endings.
"""
_WORDS = lazy_pattern(_WORD)
_PHRASE_BEFORE, _PHRASE_AFTER = 260, 340
_LONGEST_PHRASE = 24 * 12
"""Characters of a phrase that begins or ends at the edge of what is near."""
_PHRASE_WORDS, _FEWEST_WORDS = 12, 6
"""Different words of a phrase; those made for tests repeat one."""


def find_recovery_phrase(text: str, at: int) -> Iterator[SafetyFinding]:
    """Twelve to twenty-four short words in a row, near the words for such a phrase."""
    nearest, farthest = at - _PHRASE_BEFORE, at + _PHRASE_AFTER
    begin, stop = max(0, nearest - _LONGEST_PHRASE), farthest + _LONGEST_PHRASE
    for found in _PHRASE.finditer(text, begin, stop):
        start = found.start()
        if found.end() <= nearest or start >= farthest:
            continue
        for gap in (*(one.span() for one in _NO_PHRASE.finditer(found[0])), (len(found[0]), 0)):
            end = found.start() + gap[0]
            words = _WORDS.findall(text[start:end])
            if len(words) >= _PHRASE_WORDS and len(set(words)) >= _FEWEST_WORDS:
                end = start + len(text[start:end].rstrip(" \t\n,\"'"))
                yield SafetyFinding(start, end, "seed-phrase")
            start = found.start() + gap[1]


_SIZES = (12, 18, 24)
LETTERS_AND_QUOTES = bytes(range(ord("a"), ord("z") + 1)) + b"\"'`"
LONE_PHRASES = tuple(
    begin + joint * (size - 1) + end
    for joint in (b" ", b",", b", ", b"-", b"\n")
    for begin, end in ((b"\n", b"\n"), (b"[", b"]"))
    for size in _SIZES
)
"""What a phrase alone on a line, in brackets, or with a line for each word leaves of itself without
its letters and quotation marks.
"""
_LONE_PHRASE = lazy_pattern(
    r"""^[ \t>"'`\[(*-]{0,8}(?P<words>[a-z]{3,8}"""
    r"""(?:(?P<joint>[ ,\n-]|, |"\s?,\s?"|'\s?,\s?')[a-z]{3,8}"""
    r"""(?:(?P=joint)[a-z]{3,8}){10,22}))[ \t"'`\])*.,]{0,8}$""",
    re.MULTILINE,
)
"""A line, or lines of one word each, of nothing but words."""
_FEW_FORMS = lazy_pattern(r"[a-z]{2,}(?:ing|ed|ers?|ies|ly|tion|able)\b|[a-z]{3,}[^su]s\b")
"""Forms of words, of which lists for phrases hold few."""
_MOST_FORMS = 0.25
"""Their share among a phrase's words at most. Our choice: two in a hundred drawn ones have more."""
_LIKE_IT = lazy_pattern(r"[ \t>\"'`,*-]{0,8}[a-z]{2,}(?:[ ,\"'-]+[a-z]{2,}){5,}[ \t\"'`,.]*\Z")


def find_unnamed_recovery_phrase(text: str) -> Iterator[SafetyFinding]:
    """A recovery phrase that has a line for itself, with no word near that names it: twelve to
    twenty-four different words as lists for phrases hold them, and no such line above or below.
    """
    for found in _LONE_PHRASE.finditer(text):
        words = re.findall(r"[a-z]+", found["words"])
        above = text[max(0, found.start() - 300) : max(0, found.start() - 1)].rpartition("\n")[2]
        below = text[found.end() + 1 : found.end() + 300].partition("\n")[0]
        if (
            len(words) in _SIZES
            and len({word[:4] for word in words}) == len(words)
            and len(_FEW_FORMS.findall(found["words"])) <= _MOST_FORMS * len(words)
            and not _NO_PHRASE.search(found["words"])
            and not any(map(_LIKE_IT.match, (above, below)))
            and (found["joint"] != "\n" or not (above.strip() or below.strip()))
        ):
            yield SafetyFinding(*found.span("words"), "seed-phrase")


PERSONAL_SECRETS: dict[str, Callable[[str, int], Iterator[SafetyFinding]]] = {
    **dict.fromkeys(("pin ", "pin:", "pin=", "pin-", "pincode", "pinnumber"), _pin),
    **{
        f"{whose} code": _code
        for whose in (
            "door", "alarm", "gate", "access", "entry", "unlock", "verification", "security",
            "backup", "recovery", "login", "2fa", "mfa", "sms", "otp", "one-time", "safe", "garage",
            "authentication", "confirmation", "lock", "building", "activation",
        )
    },
    **dict.fromkeys(
        ("zugangscode", "türcode", "bestätigungscode", "sicherheitscode", "code d'acc",
         "code de la porte", "code de v", "code de s", "code di verifica"),
        _code,
    ),
    **dict.fromkeys(
        ("backup code", "recovery code", "backup-code", "recovery-code", "backup_code",
         "recovery_code", "backupcode", "recoverycode", "scratch code", "wiederherstellungscode",
         "codes de secours", "codes de r", "digos de r", "digos de s", "codici di backup",
         "codici di r", "emergency code", "one-time code"),
        _code_list,
    ),
    **dict.fromkeys(
        ("otp seed", "otp secret", "otp key", "2fa seed", "2fa secret", "setup key",
         "authenticator key", "entry key"),
        _otp_seed,
    ),
    "wifi:": _wifi_line,
    **dict.fromkeys(
        ("wlan", "wifi", "wi-fi", "wpa", "hotspot", "netzwerk", "network key"), _wireless_key
    ),
    **dict.fromkeys(
        ("phrase", "mnemonic", "recovery words", "seed words", "seed-w", "wallet words", "seed:",
         "seed=", "seed =", "frase ", "backup words", "palabras de r", "palavras de r",
         "parole di r", "mots de r", "semilla", "herstelzin"),
        find_recovery_phrase,
    ),
}  # fmt: skip
"""Readers by anchor, in small letters."""
