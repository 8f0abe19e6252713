"""How likely a word of a message is in a memory by chance, without having to do with it. Pure.

A message of forty words shares two or three with almost any memory. Matched words count by their
rarity in what people type to agents, and what a message of the same words would match by chance
is taken off.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from msgspec import Struct

from memorist.core.language_detection import list_non_english_common_words
from memorist.core.search_words import extract_words_with_keys

MEAN_MESSAGE_WORDS = 27
"""Words of the mean message that `WORD_RATES` were counted in."""

UNSEEN_RATE = 0.7
"""Messages in a thousand that a word not listed is expected in."""

COMMON_RATE = 150.0
"""The same for a common word of another language, about as common as its English like, and for a
number of one or two digits, which any list, version or pasted output holds.
"""

MAX_COMMON_DIGITS = 2

MAX_CHANCE = 0.98
"""A word that all other entries hold still says a little."""

OTHERS_OF_TOPIC = 4
"""Other entries that may hold a word because they are about the same thing."""

CHANCE_DEVIATIONS = 1.25
"""Standard deviations of what chance gives that are taken off too. These were chosen on half the
repositories of a set of memories and of messages about something else (docs/ranking.md).
"""

PRIOR_ENTRIES = 4
"""Added to the number of entries in the share of those that hold a word: a few entries say little
about how common it is.
"""

MIN_ENTRY_WORDS = 6
"""An entry counts as at least this long: a title of one word is no proof."""

_RATES = (
    "the:477 to:299 and:267 a:256 in:228 thi:210 is:199 it:186 can:178 we:176 commit:159 for:154 "
    "i:151 that:150 with:150 you:146 s:139 on:130 of:120 git:107 be:104 us:102 should:97 not:95 "
    "chang:92 run:92 do:90 now:87 pr:86 go:83 make:83 or:81 have:79 http:79 entir:78 if:76 "
    "user:75 continu:74 fix:74 github:73 what:73 but:72 add:71 from:69 as:66 test:63 branch:61 "
    "ar:60 t:60 file:59 when:59 need:57 so:57 com:56 repositori:56 plan:55 there:55 also:54 "
    "implement:54 updat:54 an:53 no:53 session:52 all:51 let:50 your:49 push:48 work:48 ha:47 "
    "how:47 just:47 ok:47 ani:46 answer:45 fail:45 get:45 new:45 then:45 agent:44 like:44 "
    "question:44 main:43 onli:43 at:42 issu:42 check:40 checkpoint:39 error:39 more:39 review:39 "
    "these:39 document:38 why:38 current:37 think:37 would:37 code:36 creat:36 look:36 merg:36 "
    "doe:35 did:33 first:33 context:32 follow:32 into:32 mind:32 option:32 pleas:32 up:32 ye:32 "
    "befor:31 find:31 line:30 other:30 token:30 want:30 configur:29 md:29 me:29 show:29 by:28 "
    "some:28 directori:27 cli:26 detail:26 discuss:26 remov:26 action:25 base:25 instead:25 "
    "skill:25 write:25 name:24 sourc:24 where:24 differ:23 here:23 open:23 same:23 share:23 "
    "still:23 which:23 about:22 alreadi:22 local:22 out:22 project:22 set:22 again:21 build:21 "
    "command:21 default:21 e:21 gener:21 intern:21 localhost:21 src:21 start:21 statu:21 take:21 "
    "authent:20 both:20 call:20 log:20 messag:20 pull:20 right:20 sure:20 claud:19 json:19 re:19 "
    "releas:19 thei:19 them:19 type:19 wa:19 don:18 exist:18 kei:18 prompt:18 state:18 wai:18 "
    "without:18 address:16 app:16 back:16 been:16 feedback:16 list:16 origin:16 output:16 path:16 "
    "request:16 requir:16 servic:16 someth:16 too:16 comment:15 contain:15 data:15 descript:15 "
    "directli:15 done:15 format:15 id:15 includ:15 m:15 mayb:15 our:15 readm:15 repli:15 sai:15 "
    "seem:15 support:15 verifi:15 via:15 will:15 ad:14 after:14 becaus:14 d:14 exampl:14 feel:14 "
    "full:14 improv:14 last:14 onc:14 see:14 than:14 try:14 two:14 version:14 well:14 content:13 "
    "latest:13 miss:13 text:13 time:13 anoth:12 b:12 doesn:12 each:12 enabl:12 environ:12 "
    "everyth:12 info:12 initi:12 ll:12 load:12 mean:12 render:12 separ:12 sinc:12 their:12 "
    "those:12 through:12 understand:12 addit:11 appli:11 case:11 explain:11 ignor:11 next:11 "
    "provid:11 read:11 structur:11 valu:11 workflow:11 anyth:10 api:10 around:10 clear:10 "
    "either:10 featur:10 function:10 happen:10 investig:10 keep:10 mode:10 pass:10 point:10 "
    "rebas:10 secur:10 select:10 server:10 singl:10 top:10 true:10 avail:9 between:9 complet:9 "
    "design:9 empti:9 handl:9 import:9 inform:9 leav:9 pars:9 per:9 produc:9 reason:9 ui:9 wait:9 "
    "yet:9 across:8 against:8 alwai:8 approach:8 ask:8 bump:8 ci:8 client:8 everi:8 execut:8 "
    "indic:8 inlin:8 integr:8 interact:8 job:8 page:8 relev:8 root:8 rule:8 script:8 sens:8 "
    "surfac:8 author:7 break:7 button:7 caus:7 correct:7 depend:7 end:7 ensur:7 extern:7 index:7 "
    "isn:7 model:7 much:7 possibl:7 return:7 search:7 summari:7 ve:7 "
)
WORD_RATES = {
    word: int(count) for word, _, count in (each.partition(":") for each in _RATES.split())
}
"""Search keys of common words, with how many of a thousand messages contain them: counted in 995
messages typed to coding agents, words that people of at least five repositories used.
"""


WORD_CACHE_SIZE = 4_096
"""Words of queries that are remembered as uncommon or not, and chances: a question's words are
asked about once for each memory that has them, and few words have a rate of their own.
"""


def compute_word_chance(word: str, entry_words: int) -> float:
    """Probability that an unrelated entry of this many words contains the search key `word`."""
    return _chance_by_rate(_rate_of_word(word), entry_words)


@lru_cache(WORD_CACHE_SIZE)
def _rate_of_word(word: str) -> float:
    """How many of a thousand messages contain a search key."""
    rate = WORD_RATES.get(word)
    if rate is not None:
        return rate
    is_common = word in list_non_english_common_words() or (
        word.isdigit() and len(word) <= MAX_COMMON_DIGITS
    )
    return COMMON_RATE if is_common else UNSEEN_RATE


@lru_cache(WORD_CACHE_SIZE)
def _chance_by_rate(rate: float, entry_words: int) -> float:
    words = max(entry_words, MIN_ENTRY_WORDS)
    return 1.0 - math.pow(1.0 - rate / 1_000, words / MEAN_MESSAGE_WORDS)


@lru_cache(WORD_CACHE_SIZE)
def contains_name_like_word(text: str) -> bool:
    """Whether a text holds a name or term: a word of letters and digits, a known abbreviation, or
    capitals.
    """
    return any(
        word not in WORD_RATES
        and (spelled.isupper() or any(letter.isdigit() for letter in spelled))
        for word, spelled in extract_words_with_keys(text)
        if len(spelled) > 1
    )


MIN_RARE_LETTERS = 5
"""Letters of a word that can be taken for rare by itself: shorter ones are often fillers."""


def is_hardly_ever_typed(word: str) -> bool:
    """Whether a word alone says what a message is about: letters that hardly anybody types."""
    keys = [key for key, _ in extract_words_with_keys(word)]
    return (
        word.isalpha()
        and len(word) >= MIN_RARE_LETTERS
        and not any(key in WORD_RATES or key in list_non_english_common_words() for key in keys)
    )


def measure_evidence_above_chance(
    query_words: Collection[str], matched: Collection[str], entry_words: int
) -> float:
    """Measure in nats how much more a query's words say for an entry than chance would give.

    `query_words` and `matched` are search keys, `entry_words` the entry's length.
    """
    return QueryEvidenceMeter(query_words).measure(matched, entry_words)


class QueryEvidenceMeter:
    """Measures evidence above chance, as `measure_evidence_above_chance` does, for many entries:
    what chance gives is the same for all of one length.
    """

    def __init__(self, query_words: Collection[str]) -> None:
        self._query_words = query_words
        self._rates = Counter(map(_rate_of_word, query_words))
        self._means: dict[int, float] = {}
        """What chance gives by an entry's length."""

    def measure(self, matched: Collection[str], entry_words: int) -> float:
        """The evidence for an entry with these of the query's words, in nats."""
        mean = self._means.get(entry_words)
        if mean is None:
            chances = ((_chance_by_rate(rate, entry_words), n) for rate, n in self._rates.items())
            mean = self._means[entry_words] = -sum(n * each * math.log(each) for each, n in chances)
        found = (word for word in self._query_words if word in matched)
        return sum(-math.log(compute_word_chance(word, entry_words)) for word in found) - mean


class EntryEvidenceScorer:
    """Measures evidence above chance for entries of a project of a few hundred, less
    `CHANCE_DEVIATIONS` of what chance gives, which is much for a long query.

    `holders` says how many of the `entries` hold a word: one that many others hold too is the
    project's language and says little for an entry. What chance gives is the same for all entries
    of one length but for the words they have; none is longer than `longest`.
    """

    def __init__(
        self,
        query_words: Collection[str],
        *,
        holders: Mapping[str, int],
        entries: int,
        longest: int,
    ) -> None:
        self._holders = holders
        self._entries = entries
        by_holders = list[float]()
        self._by_length = Counter[tuple[float, float]]()
        """Rate and share of holders of the other words, whose chance depends on the length."""
        for word in query_words:
            rate, share = _rate_of_word(word), self._share_of_others(word, is_matched=False)
            if share >= _chance_by_rate(rate, longest):
                by_holders.append(share)
            else:
                self._by_length[rate, max(share, _chance_by_rate(rate, 0))] += 1
        self._constant = _sum_chance((chance, 1) for chance in by_holders)
        self._sums: dict[int, _ChanceSurprise] = {}
        """What chance gives by the length of an entry that has none of the words."""
        self._matches: defaultdict[int, dict[str, _MatchedWord]] = defaultdict(dict)
        """What a word says that an entry of a length has."""

    def measure_evidence_for_entry(self, matched: Collection[str], entry_words: int) -> float:
        """The evidence for an entry with these of the query's words, in nats."""
        unmatched = self._sums.get(entry_words)
        if unmatched is None:
            unmatched = self._sums[entry_words] = self._sum_unmatched(entry_words)
        found, mean, variance = 0.0, unmatched.mean, unmatched.variance
        known = self._matches[entry_words]
        for word in matched:
            says = known.get(word)
            if says is None:
                says = known[word] = self._measure_matched(word, entry_words)
            found += says.surprise
            mean += says.mean
            variance += says.variance
        return found - mean - CHANCE_DEVIATIONS * math.sqrt(max(0.0, variance))

    def _measure_matched(self, word: str, entry_words: int) -> _MatchedWord:
        least = compute_word_chance(word, entry_words)
        chance = max(least, self._share_of_others(word, is_matched=True))
        former = max(least, self._share_of_others(word, is_matched=False))
        surprise, of_former = -math.log(chance), -math.log(former)
        return _MatchedWord(
            surprise,
            chance * surprise - former * of_former,
            chance * (1 - chance) * surprise**2 - former * (1 - former) * of_former**2,
        )

    def _share_of_others(self, word: str, *, is_matched: bool) -> float:
        others = self._holders.get(word, 0) - is_matched - OTHERS_OF_TOPIC
        return min(others / (self._entries + PRIOR_ENTRIES), MAX_CHANCE)

    def _sum_unmatched(self, entry_words: int) -> _ChanceSurprise:
        varying = _sum_chance(
            (max(_chance_by_rate(rate, entry_words), share), count)
            for (rate, share), count in self._by_length.items()
        )
        return _ChanceSurprise(
            self._constant.mean + varying.mean, self._constant.variance + varying.variance
        )


class _MatchedWord(Struct, frozen=True):
    """What a word says that an entry has, and by how much what chance gives differs from that of
    an entry without it, in nats.
    """

    surprise: float
    mean: float
    variance: float


class _ChanceSurprise(Struct, frozen=True):
    """Mean and variance of what words say that match by chance, in nats."""

    mean: float
    variance: float


def _sum_chance(chances: Iterable[tuple[float, int]]) -> _ChanceSurprise:
    """Sum what chance gives for words: each chance and the number of words that have it."""
    mean = variance = 0.0
    for chance, count in chances:
        surprise = -math.log(chance)
        mean += count * chance * surprise
        variance += count * chance * (1 - chance) * surprise * surprise
    return _ChanceSurprise(mean, variance)
