"""The weights of `unconfirmed_score`, by `benchmarks/statement_weights.py`. Pure."""

from __future__ import annotations

THRESHOLD = 1.78
"""Sum of weights from which a sentence waits: one in twenty messages that hold nothing lasting
then does.
"""
_CUES = """
can_you=-0.36 colon=-0.36 contrast=0.27 deixis=0.02 discuss=0.66 future=0.27 i_state=-0.07
identifier=0.24 lets=0.21 long=0.12 many=0.09 moment=-0.17 negated_order=0.43 negation=0.42
never_always=0.37 number=-0.35 only=0.19 order=0.14 passing=-0.16 past=-0.13 plural_process=0.77
question=-0.57 reason=0.47 rule_verb=0.73 screen=-0.80 short=-0.08 should=0.01 we=0.33
we_state=0.22 you=0.60
"""
_FORMS = """
1000_characters=0.37 12_words=0.44 160_characters=0.09 2_words=-0.06 20_words=0.42
30_characters=0.58 30_words=0.10 4_words=0.58 400_characters=0.06 7_words=-0.23 80_characters=-0.67
after_a_question=0.35 first_message=-0.58 imperative=-0.26 list=-0.51 negated=0.30 not_first=0.16
not_last=0.28 path=0.30 question=-0.68 quotation=0.05 small_letter=-0.27
"""
_WORDS = """
0=-0.03 a=0.08 able=0.03 about=-0.10 action=0.01 actions=0.01 active=-0.04 add=-0.01 added=0.04
adding=0.01 address=-0.07 after=0.06 again=0.06 against=-0.01 agent=-0.08 agents=-0.03 agreed=0.04
ahead=-0.05 all=-0.05 already=-0.01 also=-0.14 always=0.07 am=-0.01 an=0.09 analysis=0.01 and=0.01
another=-0.04 answered=-0.04 answers=-0.20 any=0.05 anymore=0.04 anything=0.05 app=0.04 apply=0.02
approach=0.01 are=0.09 around=0.04 as=0.07 ask=0.03 at=0.03 auth=0.04 avoid=0.08 b=-0.01 back=0.05
backend=-0.01 backwards=0.02 bar=-0.02 base=-0.03 based=-0.06 be=-0.01 because=0.03 been=0.08
before=0.11 being=0.08 best=0.02 better=0.05 between=-0.06 bit=-0.01 body=0.09 both=0.03
branch=0.05 bug=-0.02 build=-0.03 bump=-0.03 button=-0.02 by=-0.02 c=-0.02 call=0.01 can=-0.02
can't=0.03 case=0.04 change=-0.04 changelog=0.06 changes=-0.07 checkout=-0.03 checkpoint=0.11
checkpoints=-0.02 ci=-0.02 claude=0.03 clean=-0.01 clear=-0.04 cli=0.19 client=0.01 code=0.09
codebase=-0.01 com=-0.12 command=0.02 comment=-0.02 comments=-0.01 commit=-0.18 committed=-0.01
compared=-0.02 config=0.03 configuration=0.02 contain=-0.02 content=-0.06 continue=-0.26
correct=0.07 correctly=-0.02 could=-0.02 create=0.01 created=0.05 current=-0.04 currently=-0.03
date=-0.01 debug=-0.02 default=0.02 description=0.01 design=-0.02 detail=0.01 details=0.02 dev=0.04
did=-0.07 diff=0.01 difference=-0.01 different=-0.02 directly=-0.03 disabled=-0.01 discussion=0.12
do=0.01 docs=-0.01 documentation=0.04 does=-0.09 doesn't=-0.05 doing=0.02 don't=0.11 done=-0.01
dont=-0.02 down=-0.02 each=0.02 edit=0.07 either=0.03 empty=-0.01 enabled=0.04 ensure=-0.01
entire=0.16 env=-0.02 error=-0.02 errors=-0.02 etc=0.01 even=-0.05 every=0.07 existing=-0.02
explain=0.04 f=0.05 fail=-0.03 failed=-0.03 failing=0.01 feature=-0.04 feel=0.06 feels=0.04
fetch=-0.02 files=-0.10 find=-0.03 first=0.12 fix=-0.16 fixes=-0.03 flow=0.01 focus=-0.02
folder=0.04 follow=-0.03 for=0.14 format=-0.07 found=-0.04 four=-0.01 front=-0.03 frontend=-0.02
full=-0.06 g=-0.03 generic=0.01 get=-0.07 github=-0.09 go=0.05 going=0.02 got=-0.07 green=-0.02
handle=0.07 happens=0.06 has=-0.06 have=0.13 header=-0.04 helper=0.05 here=0.02 how=-0.04
http=-0.06 https=-0.04 i=-0.01 i'm=0.09 i've=0.02 if=-0.32 implement=-0.05 implementation=-0.06
improve=-0.02 in=0.03 include=-0.03 information=0.07 inline=0.01 instead=0.07 into=-0.02
investigate=-0.05 is=0.03 issue=0.11 issues=-0.08 it=-0.13 it's=-0.08 itself=-0.01 job=-0.02
json=-0.04 just=0.06 keep=0.09 know=0.02 last=-0.07 later=-0.01 leave=-0.02 let=-0.02 let's=0.01
like=-0.08 line=-0.01 list=-0.04 localhost=-0.04 log=0.03 logic=-0.02 look=0.06 looking=0.05
looks=-0.03 made=-0.01 main=-0.06 make=0.24 matter=-0.03 maybe=0.03 md=0.09 me=0.05 mean=-0.04
memory=-0.04 merge=-0.03 message=-0.02 messages=0.01 method=0.01 mind=-0.17 module=0.04 more=-0.11
much=0.03 multiple=0.01 must=-0.01 my=-0.02 name=-0.03 names=-0.01 native=-0.02 need=-0.13
needed=-0.04 needs=0.01 never=0.03 new=0.05 next=-0.03 not=-0.04 now=0.01 number=-0.01 of=0.10
on=-0.13 once=0.12 one=0.06 ones=-0.02 only=0.01 option=0.02 options=-0.02 or=-0.04 order=-0.05
other=-0.14 our=0.07 out=-0.06 page=-0.03 patch=-0.02 path=-0.02 permissions=0.11 plan=0.10
please=0.04 points=-0.03 possible=-0.03 post=0.03 pr=0.26 previous=-0.01 private=0.06
probably=-0.02 problem=-0.02 project=0.01 projects=-0.04 prompt=-0.07 propose=0.02 prs=-0.02
public=0.02 pull=-0.01 push=0.06 questions=-0.07 r=-0.04 rather=0.01 rebase=0.01 reference=0.03
related=-0.03 remote=0.02 remove=0.02 removed=0.03 rename=-0.01 render=-0.03 reply=0.27 repo=-0.08
report=-0.02 request=0.19 return=-0.01 review=-0.01 rid=-0.01 right=0.12 root=0.03 rules=-0.01
run=0.07 running=0.03 runs=-0.04 said=0.04 same=-0.01 say=-0.03 search=-0.02 second=-0.02
security=0.02 see=0.02 seems=-0.03 separate=0.05 session=-0.13 set=0.05 setting=0.01 share=-0.03
should=-0.11 show=-0.03 shown=0.04 similar=-0.01 simple=-0.01 since=0.08 single=0.02 skill=-0.06
skills=0.01 so=0.15 some=-0.01 something=-0.04 split=-0.02 squash=0.06 start=-0.01 started=-0.03
state=0.01 status=-0.02 still=0.05 structure=-0.04 suggest=-0.02 summarize=0.01 support=-0.01
sure=0.04 take=0.03 test=0.01 tests=-0.10 text=-0.04 that=-0.03 that's=-0.01 the=-0.06 their=0.04
them=0.03 then=-0.08 there=0.04 these=0.02 they=-0.10 thing=0.02 things=-0.01 think=0.05
thinking=0.05 this=-0.08 those=0.03 thread=0.09 three=-0.01 throw=0.01 title=0.01 to=0.18
token=0.01 too=0.04 top=-0.06 tried=-0.01 true=-0.03 try=-0.03 type=-0.03 ui=-0.02 up=-0.04
update=0.02 url=-0.03 use=-0.03 used=-0.01 user=-0.17 user's=-0.17 users=0.07 using=0.02 v=-0.03
value=0.05 version=0.02 versions=-0.02 via=0.12 view=0.01 visible=-0.04 wait=0.12 want=0.01
warnings=0.01 was=0.08 way=0.03 we=0.01 we're=-0.02 well=-0.01 what=-0.07 what's=-0.07 when=-0.05
where=-0.01 which=0.03 whole=0.03 why=-0.07 with=0.01 without=0.01 work=0.02 would=-0.09
writing=0.03 wrong=0.03 yes=-0.04 yet=-0.04 you=0.13 your=0.08
"""


def _read_table(kind: str, table: str) -> dict[str, float]:
    pairs = (entry.rsplit("=", 1) for entry in table.split())
    return {
        f"{kind}:{name.replace('_', ' ') if kind == 'form' else name}": float(weight)
        for name, weight in pairs
    }


WEIGHTS: dict[str, float] = {
    **_read_table("cue", _CUES),
    **_read_table("form", _FORMS),
    **_read_table("word", _WORDS),
}
"""Weight by the name of a feature; a feature that is missing counts nothing."""
