"""The weights of `written_rule_score`, by `benchmarks/fit_written_rules.py`. Pure."""

from __future__ import annotations

ENGLISH_THRESHOLD = 3.79
ENGLISH_WEIGHTS = r"""
cue:can_you=-0.67 cue:colon=-1.08 cue:contrast=-0.22 cue:deixis=-1.31 cue:discuss=0.20
cue:future=-0.35 cue:i_state=-1.04 cue:lets=-1.33 cue:many=0.78 cue:moment=-0.83
cue:negated_order=0.53 cue:never_always=0.79 cue:number=-1.54 cue:only=0.32 cue:order=0.99
cue:passing=-1.41 cue:past=-1.21 cue:plural_process=0.58 cue:question=-1.04 cue:rule_verb=1.33
cue:screen=-0.34 cue:short=-0.50 cue:should=0.56 cue:we=-2.00 cue:we_state=-0.23 cue:you=0.20
end:ad=-0.25 end:an=-0.39 end:ar=-0.39 end:ce=0.31 end:dd=-0.14 end:de=0.31 end:el=0.24 end:em=0.37
end:en=-0.89 end:er=-0.22 end:es=0.50 end:ew=-0.15 end:ff=0.34 end:ge=-0.32 end:ic=0.28 end:id=0.23
end:in=-0.29 end:is=-0.27 end:ke=0.18 end:ks=0.21 end:ld=-0.15 end:ll=-0.43 end:ly=0.54 end:me=0.29
end:nd=-0.33 end:ne=-0.35 end:ng=0.42 end:ns=0.51 end:nt=0.17 end:ny=-0.17 end:ol=0.29 end:om=0.16
end:on=0.40 end:or=-0.23 end:pe=0.35 end:pr=-0.33 end:rd=0.18 end:re=0.27 end:rm=0.20 end:rn=0.24
end:rs=0.45 end:ry=0.25 end:se=-0.18 end:sh=-0.37 end:st=-0.17 end:tc=0.28 end:te=0.26 end:th=-0.35
end:to=-0.25 end:ts=0.60 end:ty=0.39 end:ue=-0.55 end:un=0.15 end:us=-0.15 end:ws=0.22 end:xt=0.20
form:1000~characters=-0.89 form:12~words=0.30 form:160~characters=-2.20 form:2~words=1.66
form:20~words=-0.34 form:4~words=0.72 form:400~characters=-2.74 form:7~words=0.34
form:imperative=-0.82 form:list=-1.58 form:not~first=-0.95 form:not~last=-0.89 form:path=-0.54
form:question=-1.31 form:quotation=-0.17 pair:0_$=-0.22 pair:0_0=0.24 pair:0_characters=0.15
pair:0_m=-0.15 pair:^_a=0.32 pair:^_add=-0.92 pair:^_all=0.16 pair:^_allow=-0.55 pair:^_always=0.32
pair:^_be=0.42 pair:^_bump=-0.23 pair:^_can=-0.43 pair:^_change=-0.34 pair:^_commit=-0.70
pair:^_configure=0.26 pair:^_define=0.20 pair:^_do=0.47 pair:^_don't=0.15 pair:^_drop=-0.19
pair:^_favor=0.27 pair:^_fix=-1.09 pair:^_focus=0.23 pair:^_follow=0.48 pair:^_format=0.41
pair:^_go=-0.39 pair:^_how=-0.19 pair:^_i=-0.46 pair:^_i'll=-0.19 pair:^_if=0.46
pair:^_implement=0.67 pair:^_import=0.29 pair:^_improve=-0.54 pair:^_in=-0.22 pair:^_integrate=0.18
pair:^_it=-0.28 pair:^_it's=-0.16 pair:^_just=-0.21 pair:^_less=0.29 pair:^_let's=-0.36
pair:^_leverage=0.38 pair:^_limit=0.36 pair:^_list=0.15 pair:^_log=0.16 pair:^_maintain=0.15
pair:^_make=-0.59 pair:^_makes=-0.19 pair:^_mention=-0.19 pair:^_minimize=0.28 pair:^_monitor=0.39
pair:^_move=-0.36 pair:^_name=0.26 pair:^_no=-0.20 pair:^_place=0.31 pair:^_prefer=0.20
pair:^_preserve=0.33 pair:^_prioritize=0.15 pair:^_provide=0.21 pair:^_remember=0.30
pair:^_remove=-0.60 pair:^_rename=-0.24 pair:^_return=-0.17 pair:^_review=-0.20 pair:^_should=-0.15
pair:^_show=0.14 pair:^_skip=0.36 pair:^_structure=0.16 pair:^_summarize=-0.20 pair:^_support=-0.69
pair:^_test=0.23 pair:^_that=-0.25 pair:^_the=-0.86 pair:^_there=0.40 pair:^_this=0.23
pair:^_to=-0.23 pair:^_track=0.15 pair:^_try=-0.18 pair:^_update=-0.65 pair:^_use=0.15
pair:^_utilize=0.37 pair:^_verify=0.19 pair:^_we=-0.18 pair:^_when=0.19 pair:^_wrap=0.15
pair:^_write=0.17 pair:^_you=0.18 pair:a_new=-0.31 pair:a_pr=-0.30 pair:able_to=0.31
pair:add_new=0.27 pair:add_the=-0.26 pair:again_$=-0.18 pair:all_tests=0.21 pair:always_use=0.15
pair:and_a=0.20 pair:and_any=-0.17 pair:and_do=-0.30 pair:and_to=-0.16 pair:answer_say=0.15
pair:any_changes=0.21 pair:any_new=-0.14 pair:are_not=-0.27 pair:ask_for=0.21
pair:available_$=-0.20 pair:backend_$=0.14 pair:based_on=0.17 pair:be_a=0.23 pair:be_able=0.32
pair:be_concise=0.20 pair:be_in=0.21 pair:be_the=-0.27 pair:best_practices=0.15 pair:built_in=0.17
pair:can_you=-0.49 pair:change_$=-0.16 pair:changes_$=-0.29 pair:changes_and=-0.19
pair:check_if=-0.15 pair:clean_code=-0.15 pair:code_$=0.31 pair:code_duplication=-0.15
pair:code_is=0.18 pair:comment_$=-0.18 pair:commit_$=-0.27 pair:commit_and=-0.39
pair:commit_message=0.15 pair:commit_messages=0.17 pair:commits_$=-0.16 pair:complete_$=0.15
pair:concise_$=0.20 pair:continue_$=-0.37 pair:creating_and=0.14 pair:data_flow=0.18
pair:date_with=-0.16 pair:directory_$=0.23 pair:do_not=0.31 pair:do_the=-0.22 pair:ensure_it=0.15
pair:ensure_the=-0.15 pair:error_handling=0.29 pair:errors_$=0.17 pair:etc_$=0.28
pair:fails_$=-0.25 pair:failures_$=-0.22 pair:file_$=0.17 pair:for_$=-0.27 pair:for_errors=0.18
pair:for_example=0.24 pair:for_external=-0.15 pair:for_now=-0.20 pair:for_the=-0.71
pair:format_$=0.19 pair:from_$=0.15 pair:frontend_$=-0.15 pair:functions_with=0.20 pair:get_a=-0.17
pair:get_rid=-0.15 pair:go_ahead=-0.42 pair:going_$=-0.45 pair:guessing_$=0.16 pair:have_a=0.21
pair:here_$=-0.32 pair:https_$=-0.38 pair:i_also=0.24 pair:if_a=0.28 pair:if_any=-0.28
pair:if_available=-0.21 pair:if_it's=-0.15 pair:if_not=-0.15 pair:if_using=0.15 pair:if_you=0.22
pair:implement_proper=0.47 pair:implement_the=-0.46 pair:in_0=-0.21 pair:in_a=0.29
pair:in_for=-0.26 pair:include_in=0.18 pair:inside_the=0.21 pair:instead_of=-0.41
pair:integration_$=0.21 pair:into_the=0.32 pair:is_properly=-0.18 pair:is_the=0.14 pair:it_as=0.25
pair:it_in=0.29 pair:it_into=0.19 pair:it_more=0.24 pair:just_the=0.19 pair:layouts_$=0.18
pair:line_$=-0.15 pair:list_$=-0.18 pair:located_in=0.18 pair:main_$=-0.29 pair:maintain_a=0.15
pair:make_changes=0.19 pair:make_the=-0.38 pair:make_them=0.17 pair:makes_sense=-0.26
pair:management_$=0.22 pair:may_be=0.15 pair:mind_$=-0.27 pair:name_of=-0.18 pair:needed_$=0.15
pair:needs_$=0.15 pair:new_or=0.27 pair:non_obvious=0.27 pair:not_add=-0.21 pair:not_have=-0.20
pair:not_just=0.19 pair:not_know=0.15 pair:not_sure=0.27 pair:of_0=0.17 pair:of_guessing=0.16
pair:of_it=0.27 pair:of_that=0.22 pair:of_the=-0.31 pair:of_these=0.19 pair:of_this=-0.18
pair:of_using=-0.21 pair:only_$=0.16 pair:only_when=0.16 pair:open_a=-0.14 pair:option_$=-0.15
pair:order_$=0.21 pair:organization_$=0.16 pair:out_of=-0.16 pair:page_$=-0.23
pair:performance_$=0.18 pair:plan_$=-0.26 pair:pr_$=-0.33 pair:problem_$=0.20 pair:process_$=0.17
pair:project_$=-0.16 pair:provide_the=0.22 pair:questions_$=-0.33 pair:reasoning_$=0.16
pair:refer_to=0.24 pair:releases_$=-0.15 pair:remember_to=0.26 pair:remove_the=-0.18
pair:requests_$=0.16 pair:rid_of=-0.15 pair:run_$=0.15 pair:say_so=0.23 pair:sessions_$=-0.26
pair:should_be=0.27 pair:should_have=-0.23 pair:should_not=-0.39 pair:show_a=-0.34
pair:so_instead=0.16 pair:steps_$=0.26 pair:structure_$=0.25 pair:support_for=-0.49
pair:tailwind_css=0.16 pair:tasks_$=0.25 pair:tell_me=-0.23 pair:testing_$=0.14
pair:tests_for=-0.22 pair:tests_pass=-0.21 pair:than_0=0.36 pair:that_$=-0.16 pair:that_are=0.16
pair:that_can=0.20 pair:that_doesn't=0.15 pair:that_the=0.15 pair:the_agent=-0.33
pair:the_answer=0.30 pair:the_app=0.22 pair:the_code=0.18 pair:the_codebase=0.17
pair:the_command=-0.16 pair:the_data=0.21 pair:the_design=-0.16 pair:the_diff=0.18
pair:the_directory=0.16 pair:the_docs=-0.38 pair:the_documentation=0.18 pair:the_entire=0.28
pair:the_format=-0.16 pair:the_frontend=-0.24 pair:the_full=-0.24 pair:the_latest=0.16
pair:the_list=-0.15 pair:the_new=-0.30 pair:the_order=0.17 pair:the_other=-0.19
pair:the_primary=0.20 pair:the_same=0.24 pair:the_session=-0.16 pair:the_user=0.27
pair:then_$=-0.21 pair:there_$=-0.15 pair:this_is=-0.15 pair:throughout_the=0.22 pair:time_$=0.15
pair:to_0=0.18 pair:to_add=0.19 pair:to_be=-0.39 pair:to_create=0.17 pair:to_implement=-0.18
pair:to_install=-0.15 pair:to_it=0.15 pair:to_keep=0.15 pair:to_the=0.15 pair:type_$=0.19
pair:up_and=-0.15 pair:use_descriptive=0.15 pair:use_for=0.32 pair:use_in=-0.36 pair:use_new=-0.27
pair:use_the=-0.53 pair:user_has=-0.30 pair:user_to=0.18 pair:version_$=-0.26
pair:version_control=0.15 pair:version_of=0.17 pair:want_to=0.17 pair:when_running=-0.22
pair:when_using=-0.18 pair:with_$=-0.23 pair:with_the=-0.42 pair:work_in=0.31
pair:working_code=0.17 pair:would_be=-0.23 pair:write_clean=-0.15 pair:you_find=-0.23
pair:you_have=0.15 pair:you_need=0.19 pair:your_questions=-0.33 start:'d=-0.15 start:'s=-0.70
start:a=0.32 start:al=0.15 start:an=-0.36 start:ap=0.15 start:ar=0.15 start:be=0.47 start:ch=0.26
start:ck=0.26 start:ct=0.38 start:dd=-0.92 start:de=0.18 start:do=0.50 start:er=0.62 start:es=0.31
start:fy=0.25 start:go=-0.37 start:he=-0.81 start:i=-0.46 start:ic=0.21 start:if=0.46 start:in=0.24
start:ip=0.36 start:is=0.29 start:it=-0.30 start:ix=-0.97 start:ke=-0.65 start:ll=-0.42
start:me=0.15 start:mp=-0.23 start:ne=0.22 start:ng=-0.34 start:no=-0.20 start:ns=0.49
start:ol=-0.16 start:op=-0.17 start:ou=0.18 start:pe=0.28 start:ps=-0.15 start:re=0.28
start:rn=-0.17 start:rt=-0.32 start:ry=-0.15 start:se=0.30 start:sk=0.36 start:ss=-0.17
start:st=0.33 start:to=-0.23 start:ts=0.15 start:us=0.23 start:ut=0.23 start:ve=-0.66
start:we=-0.18 start:ys=0.32 start:ze=1.03 word:0=0.31 word:a=-0.14 word:able=0.31 word:about=-0.25
word:accessibility=0.16 word:activity=0.27 word:add=-1.01 word:additional=-0.19 word:address=-0.51
word:advice=0.27 word:again=-0.31 word:agent=-0.50 word:ahead=-0.40 word:all=-0.17 word:allow=-0.75
word:always=0.21 word:am=0.19 word:and=0.53 word:answer=0.43 word:answered=-0.33 word:any=-0.63
word:anything=-0.17 word:api=0.32 word:apis=0.26 word:app=0.48 word:appears=0.16
word:applicable=0.19 word:application=0.20 word:approach=0.21 word:approaches=0.19
word:appropriate=0.32 word:approved=0.16 word:are=0.32 word:around=-0.27 word:as=0.47 word:ask=0.39
word:at=0.17 word:auth=-0.17 word:available=-0.42 word:away=-0.15 word:b=-0.16 word:backend=0.34
word:bar=-0.14 word:bare=0.25 word:because=0.28 word:been=-0.19 word:before=0.17 word:ben=-0.18
word:binary=-0.15 word:bit=-0.15 word:block=0.21 word:blocks=0.25 word:branch=-0.33
word:breaking=-0.17 word:brief=0.22 word:build=-0.19 word:built=0.18 word:bump=-0.28
word:business=0.23 word:but=-0.37 word:button=-0.21 word:buttons=0.20 word:by=0.22 word:cache=-0.24
word:call=-0.23 word:calls=-0.24 word:can=-0.22 word:capabilities=0.20 word:case=-0.18
word:cases=-0.21 word:catch=0.21 word:change=-0.14 word:characters=0.21 word:checkpoint=-0.40
word:checkpoints=-0.25 word:class=0.20 word:classes=0.40 word:clean=-0.27 word:cleaner=0.15
word:clearly=0.26 word:code=0.93 word:coding=0.32 word:column=0.20 word:comments=0.25
word:commit=-0.84 word:compare=-0.29 word:complete=0.20 word:completed=0.16 word:complex=0.26
word:component=0.45 word:components=0.64 word:composition=0.32 word:concise=0.36
word:configure=0.40 word:consider=0.21 word:continue=-0.54 word:continuously=0.15 word:control=0.32
word:controller=0.15 word:correct=0.43 word:correctly=-0.22 word:could=-0.27 word:coverage=0.27
word:create=0.31 word:creating=0.25 word:credentials=-0.24 word:css=0.27 word:custom=0.18
word:data=0.61 word:database=0.31 word:date=-0.21 word:day=-0.18 word:declarative=0.24
word:default=-0.27 word:define=0.35 word:defining=0.14 word:definition=0.21 word:delete=0.14
word:dependencies=0.15 word:deployment=0.15 word:deprecation=-0.16 word:describe=0.24
word:describing=0.15 word:descriptive=0.19 word:designs=0.16 word:detail=-0.18 word:details=-0.39
word:detection=-0.16 word:development=0.33 word:did=-0.26 word:diff=0.18 word:differences=-0.22
word:directly=-0.47 word:directory=0.20 word:disabled=-0.27 word:do=-0.16 word:docs=-0.24
word:docstrings=0.23 word:documentation=-0.21 word:don't=0.27 word:done=-0.20 word:drop=-0.24
word:during=0.23 word:each=0.55 word:easily=0.36 word:effect=0.20 word:effects=0.25
word:efficiency=0.21 word:efficient=0.19 word:either=0.16 word:elements=0.27 word:else=-0.15
word:empty=-0.34 word:enable=0.19 word:endpoint=-0.34 word:enough=-0.19 word:ensure=0.18
word:entity=0.19 word:entries=0.26 word:environment=-0.28 word:error=0.59 word:errors=0.67
word:etc=0.26 word:even=-0.20 word:event=0.30 word:ever=-0.14 word:every=0.40 word:everything=0.16
word:example=0.18 word:examples=0.35 word:exception=0.15 word:execution=0.30 word:existing=0.29
word:expand=0.20 word:expected=0.24 word:expert=0.23 word:explicitly=0.18 word:expo's=0.15
word:extend=0.24 word:f=-0.18 word:fail=-0.25 word:fails=-0.32 word:failures=-0.18 word:favor=0.21
word:features=0.30 word:feedback=-0.17 word:feel=-0.25 word:file=0.39 word:files=0.22
word:find=-0.41 word:first=0.39 word:fix=-0.92 word:flag=0.15 word:flow=0.27 word:folder=-0.19
word:follow=0.15 word:following=0.15 word:for=0.46 word:format=0.24 word:forward=0.18
word:from=-0.20 word:full=-0.19 word:functional=0.29 word:functionality=0.15 word:functions=0.59
word:further=0.26 word:generates=0.22 word:generic=0.23 word:get=-0.45 word:git=-0.27
word:github=-0.33 word:given=-0.16 word:giving=0.15 word:going=-0.50 word:good=-0.37
word:graph=-0.22 word:grid=0.28 word:group=-0.17 word:guessing=0.16 word:handle=-0.17
word:has=-0.47 word:have=-0.35 word:here=-0.43 word:hide=-0.17 word:higher=0.15 word:hint=0.25
word:http=-0.14 word:https=-0.62 word:humans=0.17 word:i=-0.64 word:i'll=-0.34 word:idea=-0.24
word:if=0.18 word:ignore=-0.31 word:implement=0.52 word:implementing=0.27 word:import=0.46
word:imports=0.26 word:improve=-0.39 word:improving=0.24 word:include=0.15 word:information=0.22
word:initial=-0.16 word:initially=-0.15 word:input=0.25 word:inside=0.18 word:installing=0.19
word:instead=-0.19 word:instructions=0.26 word:integrate=0.23 word:integration=0.21
word:interfaces=0.17 word:introduce=-0.37 word:investigate=-0.17 word:is=-0.30 word:issue=-0.25
word:it's=-0.42 word:item=-0.26 word:items=-0.17 word:just=-0.16 word:key=-0.26 word:last=-0.23
word:latest=-0.30 word:layouts=0.22 word:let's=-0.47 word:level=0.33 word:levels=0.15
word:leverage=0.40 word:lifecycle=0.19 word:like=-0.30 word:limit=0.36 word:lines=0.25
word:linux=-0.15 word:list=-0.26 word:loaded=-0.23 word:loading=-0.21 word:located=0.18
word:logic=0.63 word:login=-0.16 word:m=-0.15 word:machine=-0.15 word:main=-0.46 word:maintain=0.34
word:make=-0.34 word:makes=-0.31 word:management=0.31 word:mapping=0.28 word:me=-0.20
word:memory=-0.18 word:mention=-0.18 word:merge=-0.63 word:metrics=0.26 word:mind=-0.33
word:minimal=0.29 word:minimize=0.38 word:minor=-0.20 word:missing=0.20 word:model=0.49
word:models=0.15 word:modular=0.15 word:monitor=0.42 word:more=0.16 word:move=-0.34 word:much=0.34
word:multiple=0.35 word:must=0.41 word:my=-0.21 word:names=0.23 word:naming=0.15 word:needs=0.26
word:no=-0.21 word:non=0.16 word:note=0.22 word:notes=0.16 word:nothing=-0.34 word:now=-0.23
word:nullable=0.29 word:oauth=-0.15 word:obvious=0.32 word:of=-0.24 word:offer=0.21 word:omit=0.19
word:on=-0.68 word:one=0.21 word:open=-0.38 word:optimization=0.19 word:optimize=0.26
word:option=-0.33 word:or=0.79 word:order=0.19 word:organization=0.16 word:out=-0.57 word:over=0.22
word:page=-0.38 word:pages=0.24 word:parameters=0.24 word:pattern=0.18 word:patterns=0.16
word:per=0.26 word:performance=0.32 word:pip=-0.19 word:pipeline=0.21 word:place=0.31
word:plan=-0.48 word:platform=0.16 word:please=-0.17 word:points=-0.18 word:pool=0.21
word:possible=0.15 word:post=-0.22 word:potential=0.16 word:pr=-1.12 word:practices=0.16
word:prefer=0.25 word:prefix=0.20 word:preserve=0.30 word:primary=0.21 word:principles=0.18
word:prioritize=0.19 word:probably=-0.18 word:problem=0.27 word:process=0.19 word:project=0.46
word:proper=0.74 word:properly=-0.28 word:protocol=0.16 word:provide=0.58 word:provider=0.19
word:public=0.16 word:pull=-0.23 word:purpose=0.19 word:push=-0.50 word:python=-0.16
word:query=0.18 word:r=-0.21 word:raises=0.39 word:rate=0.17 word:raw=-0.23 word:react=0.17
word:readability=0.17 word:reasoning=0.17 word:rebase=-0.25 word:recovery=-0.15
word:redirects=-0.15 word:redis=-0.19 word:refactoring=0.27 word:refer=0.24 word:reference=0.19
word:regarding=-0.20 word:regressions=-0.16 word:regular=0.19 word:regularly=0.23
word:release=-0.31 word:releases=-0.17 word:relevant=0.14 word:remember=0.21 word:remove=-0.57
word:removing=-0.15 word:rename=-0.26 word:repo=-0.44 word:represent=0.19 word:requests=0.36
word:required=0.26 word:requirements=0.25 word:requires=0.20 word:resources=0.24
word:responses=0.16 word:responsive=0.26 word:result=0.27 word:results=-0.19 word:returns=-0.16
word:review=-0.48 word:rid=-0.15 word:right=-0.29 word:rsc=0.14 word:run=0.15 word:running=-0.21
word:scope=0.43 word:sdk=0.46 word:second=-0.22 word:sections=0.29 word:security=0.21
word:see=-0.27 word:sense=-0.32 word:separating=0.19 word:sequence=0.17 word:services=0.17
word:session=-0.48 word:sessions=-0.26 word:should=-0.24 word:show=-0.15 word:simple=0.32
word:since=-0.22 word:skip=0.40 word:some=-0.24 word:specific=0.19 word:stack=0.22
word:staging=-0.22 word:start=0.28 word:started=-0.27 word:state=0.42 word:steps=0.55
word:string=-0.29 word:structure=0.45 word:style=0.24 word:styling=0.16 word:submodule=0.21
word:suggest=0.24 word:support=-0.93 word:sveltekit=0.17 word:sync=-0.26 word:tailwind=0.33
word:talk=0.22 word:task=0.31 word:tasks=0.49 word:tell=-0.18 word:testing=0.26 word:tests=-0.19
word:than=0.39 word:that=0.34 word:that's=-0.20 word:the=-0.61 word:their=0.18 word:then=-0.16
word:there=0.22 word:these=0.21 word:they=-0.25 word:they're=-0.16 word:this=-0.38
word:thorough=-0.23 word:thoroughly=0.20 word:thought=0.16 word:thread=-0.16 word:throughout=0.25
word:timeout=-0.14 word:title=-0.26 word:token=-0.14 word:too=-0.26 word:tool=-0.34 word:topic=0.17
word:track=0.21 word:trailing=-0.16 word:try=-0.15 word:type=0.55 word:typescript=0.27
word:unclear=0.23 word:understanding=0.15 word:unless=0.24 word:up=-0.16 word:update=-0.28
word:usage=0.24 word:use=-0.28 word:user=0.22 word:utilize=0.42 word:validate=0.14
word:validation=0.19 word:verify=0.40 word:version=-0.29 word:views=-0.16 word:visible=-0.18
word:want=0.22 word:was=-0.25 word:we=-0.43 word:well=0.18 word:whenever=0.16 word:which=-0.34
word:why=-0.45 word:will=0.33 word:with=0.17 word:work=0.15 word:worked=-0.20 word:workflow=0.34
word:workflows=0.28 word:working=0.38 word:would=-0.37 word:wrap=0.26 word:write=0.25
word:wrong=-0.17 word:you=0.21
"""
OTHER_THRESHOLD = 0.60
OTHER_WEIGHTS = r"""
cue:can_you=-0.62 cue:contrast=-0.21 cue:deixis=-1.27 cue:identifier=0.55 cue:lets=-0.41
cue:moment=-0.61 cue:negated_order=1.31 cue:never_always=0.37 cue:number=0.32 cue:order=0.39
cue:passing=-1.24 cue:past=-0.86 cue:plural_process=1.06 cue:question=-0.77 cue:rule_verb=0.92
cue:screen=-1.31 cue:short=-0.78 cue:we=-1.01 cue:you=-0.29 end:ad=0.44 end:al=-0.32 end:an=-0.35
end:as=0.29 end:au=-0.61 end:be=-0.23 end:ce=0.23 end:ch=0.41 end:ct=0.36 end:da=-0.66 end:do=-0.40
end:ea=0.49 end:el=0.63 end:em=-0.22 end:en=0.66 end:er=-0.49 end:es=0.39 end:eu=-0.44 end:ex=0.51
end:ge=0.30 end:go=0.37 end:ha=-0.29 end:he=-0.39 end:ie=-0.28 end:in=-0.31 end:io=0.33 end:is=0.55
end:it=-0.23 end:la=-0.36 end:ll=0.22 end:na=-0.21 end:ng=0.50 end:or=-0.33 end:os=0.24 end:pe=0.22
end:pi=0.28 end:pr=-0.65 end:ps=-0.28 end:ro=-0.21 end:rt=-0.29 end:ry=0.22 end:ta=-0.35
end:te=0.35 end:to=0.70 end:ts=0.45 end:ue=-0.31 end:ul=-0.39 end:ve=0.33 end:ês=0.22 end:ón=-0.22
end:во=-0.21 end:да=0.48 end:ей=-0.85 end:ек=-0.29 end:ер=-0.49 end:ет=-0.21 end:ий=-0.34
end:ию=-0.22 end:ка=0.48 end:ми=0.35 end:му=-0.26 end:од=-0.22 end:ом=0.28 end:те=-0.20
end:しない=0.34 end:ること=0.22 end:成する=-0.21 end:装する=-0.29 end:避ける=0.31 form:1000~characters=-0.29
form:12~words=1.70 form:160~characters=-2.21 form:2~words=0.37 form:20~words=-0.63
form:30~words=-0.24 form:400~characters=-1.54 form:7~words=0.57 form:list=-0.37
form:not~first=-0.45 form:path=0.60 form:question=-1.83 form:quotation=2.20 pair:^_a=-0.21
pair:^_adicione=-0.25 pair:^_ajoute=-0.35 pair:^_bei=0.32 pair:^_commit=-0.46 pair:^_corrige=-0.23
pair:^_crea=-0.23 pair:^_crée=-0.23 pair:^_der=-0.66 pair:^_entferne=-0.25 pair:^_erstelle=-0.24
pair:^_evita=0.38 pair:^_evitar=0.23 pair:^_formatiere=0.22 pair:^_implement=0.27
pair:^_kannst=-0.22 pair:^_keine=0.26 pair:^_la=-0.22 pair:^_le=-0.28 pair:^_lies=-0.23
pair:^_mach=-0.52 pair:^_mantenha=0.35 pair:^_mantén=0.27 pair:^_mostrar=-0.34 pair:^_ne=0.48
pair:^_nimm=-0.21 pair:^_no=0.26 pair:^_não=-0.33 pair:^_prefiere=0.39 pair:^_sempre=0.54
pair:^_si=0.30 pair:^_tailwind=0.25 pair:^_toujours=0.54 pair:^_use=0.26 pair:^_utilise=-0.42
pair:^_utiliser=0.55 pair:^_utilize=0.22 pair:^_verifique=-0.21 pair:^_в=-0.28 pair:^_всегда=0.55
pair:^_добавь=-0.32 pair:^_исправь=-0.44 pair:^_напиши=-0.27 pair:^_перенеси=-0.30
pair:^_проверь=-0.33 pair:^_сделай=-0.27 pair:^_создай=-0.50 pair:^_страница=-0.60
pair:^_убери=-0.30 pair:^_こ=-0.23 pair:^_す=0.21 pair:^_コ=0.21 pair:^_ボ=-0.23 pair:^_保=0.22
pair:^_我=-0.21 pair:^_把=-0.33 pair:^_每=0.22 pair:^_给=-0.21 pair:^_表=-0.24 pair:^_避=0.24
pair:a_busca=-0.30 pair:adicionar_um=-0.45 pair:adicione_um=-0.23 pair:ajoute_un=-0.22
pair:an_$=-0.21 pair:antes_de=0.76 pair:api_$=0.28 pair:archivo_de=-0.31 pair:avant_de=0.51
pair:azul_$=-0.40 pair:bas_à=-0.22 pair:bleu_$=-0.27 pair:cache_$=-0.26 pair:cambio_lo=0.37
pair:claridad_sobre=0.33 pair:classe_orderservice=-0.34 pair:commit_$=-0.33 pair:complejidad_$=0.33
pair:conventional_commits=0.25 pair:crée_une=-0.21 pair:código_$=0.39 pair:dans_$=-0.23
pair:dans_le=-0.35 pair:das_menü=-0.45 pair:de_cada=0.22 pair:de_commit=0.36
pair:de_configuración=-0.31 pair:de_exportar=-0.23 pair:de_la=0.27 pair:de_las=-0.30
pair:de_prueba=-0.39 pair:de_resultados=-0.34 pair:den_export=-0.23 pair:den_fehler=-0.25
pair:den_parser=-0.54 pair:deutsch_$=0.28 pair:die_suche=-0.34 pair:direita_$=-0.24
pair:droite_$=-0.29 pair:e_faça=-0.21 pair:ein_skript=-0.23 pair:el_archivo=-0.32
pair:el_botón=-0.28 pair:el_cambio=0.37 pair:el_error=-0.25 pair:el_formulario=-0.40
pair:el_gráfico=-0.21 pair:el_readme=-0.24 pair:em_$=-0.26 pair:em_português=0.53 pair:en_$=-0.46
pair:en_bas=-0.22 pair:en_bleu=-0.27 pair:en_español=0.45 pair:en_français=0.41 pair:en_la=0.26
pair:encuentro_el=-0.51 pair:end_to=0.24 pair:español_y=0.23 pair:et_les=0.37 pair:explicite_$=0.34
pair:falla_el=-0.39 pair:formulario_$=-0.30 pair:formulário_$=-0.40 pair:français_$=0.30
pair:geben_$=0.31 pair:getuser_$=-0.48 pair:haz_commit=-0.20 pair:https_$=-0.32 pair:in_der=-0.44
pair:kannst_du=-0.22 pair:la_búsqueda=-0.30 pair:la_lisibilité=0.49 pair:la_page=-0.24
pair:la_página=-0.27 pair:la_solution=0.52 pair:le_cache=0.29 pair:le_formulaire=-0.32
pair:le_graphique=-0.23 pair:les_tests=-0.25 pair:main_$=0.29 pair:mit_der=-0.29 pair:moi_la=-0.28
pair:montre_moi=-0.31 pair:muéstrame_la=-0.42 pair:n'affiche_toujours=-0.21 pair:na_página=-0.21
pair:ne_jamais=0.29 pair:necessário_$=0.37 pair:no_encuentro=-0.51 pair:número_de=-0.34
pair:o_$=0.38 pair:o_arquivo=-0.31 pair:o_código=0.39 pair:o_filtro=-0.37 pair:option_$=-0.25
pair:opção_$=-0.32 pair:os_testes=-0.59 pair:português_$=0.22 pair:pr_$=-0.65 pair:prettier_$=0.28
pair:pull_request=0.44 pair:página_de=-0.23 pair:quand_on=-0.22 pair:que_la=-0.32 pair:que_o=0.21
pair:rechts_$=-0.31 pair:remote_$=0.22 pair:rien_$=-0.21 pair:sein_und=-0.28 pair:servidor_$=-0.35
pair:si_falla=-0.41 pair:sobre_la=0.23 pair:tabela_$=-0.27 pair:tailwind_css=0.27 pair:to_end=0.24
pair:total_$=-0.28 pair:toujours_rien=-0.21 pair:typescript_strict=0.26 pair:um_botão=-0.20
pair:um_campo=-0.41 pair:uma_função=-0.26 pair:un_botón=-0.28 pair:un_bouton=-0.28
pair:una_columna=-0.21 pair:una_función=-0.26 pair:una_nueva=0.25 pair:une_fonction=-0.31
pair:unten_rechts=-0.23 pair:use_a=-0.23 pair:utils_$=-0.27 pair:wenn_man=-0.28 pair:y_en=0.23
pair:zeig_mir=-0.31 pair:à_droite=-0.37 pair:в_$=-0.21 pair:в_последнем=-0.23 pair:вправо_$=-0.21
pair:всё_ещё=-0.21 pair:главной_странице=-0.24 pair:добавить_поле=-0.24 pair:ещё_ничего=-0.21
pair:кода_$=0.56 pair:коммите_$=-0.20 pair:могу_найти=-0.26 pair:на_главной=-0.24
pair:на_русском=0.40 pair:не_могу=-0.49 pair:не_показывает=-0.21 pair:никогда_не=0.37
pair:ничего_не=-0.21 pair:показывает_$=-0.21 pair:последнем_коммите=-0.23 pair:сервер_$=-0.49
pair:справа_внизу=-0.22 pair:форму_$=-0.26 pair:い_て=-0.24 pair:け_る=0.30 pair:こ_と=0.31
pair:こ_の=-0.23 pair:し_て=-0.52 pair:し_な=0.36 pair:す_べ=0.21 pair:て_$=-0.98 pair:て_の=0.21
pair:と_$=0.31 pair:と_し=0.22 pair:に_従=0.20 pair:は_英=0.29 pair:ら_変=0.33 pair:る_こ=0.22 pair:を_作=-0.23
pair:を_修=-0.34 pair:を_変=-0.24 pair:を_避=0.30 pair:キ_ュ=0.24 pair:ク_リ=-0.21 pair:ケ_ー=0.28
pair:コ_ー=0.42 pair:タ_ン=-0.34 pair:ッ_ク=0.25 pair:ド_リ=0.20 pair:ハ_ン=0.20 pair:ペ_ー=-0.24
pair:ボ_タ=-0.34 pair:リ_ン=0.20 pair:ル_ー=0.30 pair:ン_を=-0.32 pair:ン_グ=0.35 pair:ン_ト=0.33 pair:ン_ド=0.24
pair:ー_を=-0.30 pair:ー_ド=0.29 pair:ー_ハ=0.20 pair:ー_ル=0.30 pair:一_下=-0.32 pair:一_个=-0.28
pair:不_得=0.45 pair:个_功=0.32 pair:中_文=0.31 pair:代_码=0.47 pair:以_后=-0.35 pair:件_$=0.23 pair:优_先=0.27
pair:优_化=0.20 pair:使_用=0.79 pair:保_存=-0.25 pair:修_改=0.46 pair:修_正=-0.34 pair:先_别=-0.25
pair:前_に=0.40 pair:功_能=0.61 pair:加_一=-0.42 pair:口_$=-0.22 pair:回_答=0.22 pair:复_杂=0.26 pair:完_成=0.24
pair:循_环=-0.26 pair:必_ず=0.28 pair:必_要=0.34 pair:必_须=0.41 pair:忘_了=-0.39 pair:成_$=0.24
pair:成_す=-0.21 pair:成_后=0.33 pair:报_错=-0.21 pair:按_钮=-0.20 pair:接_口=-0.23 pair:搜_索=-0.27
pair:改_$=0.39 pair:改_成=-0.43 pair:文_件=0.24 pair:新_的=-0.21 pair:日_本=0.38 pair:旧_的=-0.26
pair:更_し=-0.43 pair:更_前=0.43 pair:本_語=0.38 pair:概_念=0.21 pair:正_す=-0.31 pair:每_个=0.25 pair:测_试=0.30
pair:添_加=0.28 pair:环_$=-0.26 pair:用_$=0.45 pair:用_中=0.30 pair:的_功=0.29 pair:确_保=0.26 pair:确_认=0.21
pair:禁_止=0.21 pair:简_洁=0.31 pair:統_一=0.26 pair:考_慮=0.27 pair:能_$=-0.34 pair:脚_本=0.22 pair:英_語=0.33
pair:表_示=-0.31 pair:装_す=-0.29 pair:要_用=-0.30 pair:规_则=0.27 pair:解_決=0.21 pair:語_で=0.54
pair:记_住=-0.27 pair:设_计=0.27 pair:超_过=0.28 pair:这_个=-0.39 pair:適_切=0.21 pair:遵_循=0.27 pair:避_け=0.31
pair:避_免=0.39 pair:需_要=-0.30 pair:页_面=-0.20 start:a=-0.21 start:ar=1.26 start:as=0.24
start:be=-0.31 start:ca=0.51 start:ea=-0.23 start:ei=0.32 start:en=0.51 start:er=0.70 start:ez=0.51
start:fe=-0.22 start:ge=-0.48 start:ha=0.35 start:he=-0.47 start:ie=-0.22 start:ir=0.25
start:is=-0.24 start:it=-0.44 start:la=-0.58 start:le=0.43 start:me=-0.36 start:mm=-0.22
start:mo=0.28 start:ne=0.39 start:no=0.26 start:nt=0.28 start:on=0.24 start:ra=-0.64 start:rn=0.40
start:rs=0.55 start:se=-0.40 start:si=0.30 start:ta=0.30 start:te=0.36 start:ue=-0.56
start:va=-0.29 start:za=0.40 start:ze=0.56 start:ão=0.29 start:ée=-0.23 start:én=0.27
start:ай=-0.27 start:в=-0.28 start:вь=-0.76 start:да=0.55 start:ли=-0.32 start:ни=-0.48
start:ри=-0.79 start:рь=-0.52 start:си=-0.30 start:ть=0.54 start:уй=-0.82 start:ца=-0.60
start:ши=-0.27 start:яй=-0.31 start:こ=-0.23 start:す=0.21 start:コ=0.21 start:ボ=-0.23 start:保=0.22
start:我=-0.21 start:把=-0.33 start:每=0.22 start:给=-0.21 start:表=-0.24 start:避=0.24 word:0=0.89
word:a=-1.33 word:actualiza=0.25 word:adicionar=-0.45 word:adicione=-0.25 word:afficher=-0.48
word:ajoute=-0.35 word:analyse=0.20 word:antes=0.76 word:antworten=0.44 word:api=0.36
word:archivo=-0.32 word:archivos=0.73 word:arquivo=-0.31 word:arquivos=0.29 word:as=0.22
word:astro=0.33 word:au=-0.42 word:aufgaben=0.54 word:avant=0.85 word:avec=-0.34 word:azul=-0.40
word:bas=-0.22 word:befolgen=0.61 word:bei=0.46 word:bestehende=0.29 word:bleu=-0.27
word:botão=-0.38 word:botón=-0.54 word:bouton=-0.39 word:brevemente=0.56 word:busca=-0.37
word:button=-0.21 word:búsqueda=-0.30 word:cada=0.43 word:cambio=0.81 word:cambios=0.21
word:campo=-0.61 word:change=-0.21 word:claramente=0.43 word:claridad=0.33 word:classe=-0.34
word:clés=0.23 word:code=1.19 word:columna=-0.21 word:com=-0.52 word:comentarios=0.47
word:comentários=0.42 word:commits=0.57 word:complejidad=0.33 word:con=-0.22
word:configuración=-0.31 word:configuration=-0.27 word:convenciones=0.22 word:conventional=0.25
word:corrige=-0.23 word:count=-0.41 word:crea=-0.23 word:crear=0.35 word:crée=-0.23 word:css=0.45
word:cuando=0.26 word:código=1.44 word:dans=-0.58 word:das=-0.79 word:dass=0.27 word:dateien=0.51
word:datos=-0.43 word:del=0.46 word:den=-0.73 word:der=-1.08 word:des=0.96 word:design=0.22
word:deutsch=0.37 word:dich=0.24 word:die=-2.03 word:direita=-0.24 word:do=0.37 word:doit=-0.22
word:dos=-0.59 word:droite=-0.37 word:ein=-0.26 word:eine=-0.29 word:einen=-0.34 word:ejemplos=0.24
word:el=-0.92 word:en=0.23 word:encuentro=-0.51 word:endpoint=-0.39 word:entferne=-0.25
word:entscheidungen=0.65 word:erro=-0.48 word:erstelle=-0.24 word:es=0.27 word:español=0.45
word:est=-0.68 word:estilo=0.21 word:está=-0.26 word:et=0.25 word:evita=0.43 word:evitar=0.23
word:excessive=0.34 word:existente=0.75 word:existentes=0.32 word:explicite=0.34 word:export=-0.24
word:exportar=-0.23 word:falla=-0.49 word:faça=-0.29 word:fehler=-0.44 word:fichier=-0.36
word:fichiers=0.24 word:filtro=-0.55 word:fonction=-0.31 word:for=0.40 word:formatiere=0.22
word:formulaire=-0.32 word:formular=-0.33 word:formulario=-0.50 word:formulário=-0.83
word:français=0.41 word:funciona=-0.34 word:funciones=0.21 word:funktion=-0.34 word:função=-0.26
word:für=0.53 word:geben=0.31 word:gere=-0.55 word:getuser=-1.44 word:graphique=-0.23
word:gráfico=-0.41 word:größer=-0.43 word:haz=-0.23 word:header=-0.23 word:https=-0.33 word:i=-0.25
word:im=0.32 word:implement=0.26 word:in=-0.31 word:jamais=0.29 word:javascript=0.28
word:kannst=-0.22 word:keine=0.26 word:kiss=0.23 word:konventionen=0.39 word:kurz=0.55
word:kurze=0.30 word:la=-1.57 word:le=-1.25 word:les=0.63 word:lies=-0.23 word:lisibilité=0.50
word:lo=0.45 word:login=-0.54 word:lugares=-0.30 word:mach=-0.52 word:main=0.23 word:man=-0.51
word:mantenha=0.35 word:mantén=0.27 word:me=-0.33 word:menu=-0.30 word:menü=-0.45
word:migration=-0.30 word:mir=-0.50 word:mit=0.35 word:moi=-0.42 word:montre=-0.31
word:mostrar=-0.56 word:mudanças=0.43 word:muéstrame=-0.44 word:n'affiche=-0.21 word:na=-0.21
word:ne=0.40 word:necessário=0.37 word:nicht=-0.22 word:nimm=-0.21 word:noch=-0.33
word:nombres=0.25 word:nuevas=0.36 word:não=-0.48 word:número=-0.34 word:o=-0.62 word:oder=0.39
word:ohne=0.67 word:on=-0.39 word:option=-0.29 word:opção=-0.32 word:orderservice=-1.03
word:os=-0.69 word:ou=0.52 word:output=0.21 word:page=-0.26 word:para=-0.48 word:parser=-0.58
word:pas=0.28 word:performance=0.23 word:pipeline=-0.33 word:plan=-0.40 word:por=-0.35
word:português=0.53 word:pour=-0.25 word:pr=-0.97 word:prefiere=0.39 word:prettier=0.45
word:proper=0.24 word:prueba=-0.39 word:pruebas=0.21 word:pull=0.43 word:página=-0.72
word:readme=-1.37 word:rechts=-0.45 word:relance=-0.55 word:relevante=0.43 word:remote=0.21
word:repository=0.26 word:request=0.46 word:resultados=-0.34 word:reutiliza=0.23 word:rien=-0.21
word:schreiben=0.44 word:schritt=-0.34 word:script=-0.25 word:segunda=-0.32 word:sein=-0.38
word:sem=0.78 word:sempre=0.62 word:servidor=-0.35 word:si=0.50 word:sich=0.31 word:sie=1.01
word:skript=-0.23 word:sobre=0.39 word:soll=-0.61 word:solo=0.32 word:solution=0.55
word:sprache=0.33 word:statt=-0.22 word:strict=0.28 word:styling=0.27 word:suche=-0.49
word:tabela=-0.42 word:tailwind=0.29 word:templates=0.23 word:test=-0.84 word:teste=-0.77
word:tests=-0.54 word:the=-0.59 word:this=-0.27 word:tokens=0.22 word:total=-0.43
word:toujours=0.36 word:typescript=0.39 word:título=-0.24 word:um=-0.94 word:uma=-0.38
word:umbenennen=-0.38 word:un=-1.11 word:und=0.63 word:unten=-0.23 word:usa=-0.34 word:usar=0.39
word:utilise=-0.42 word:utiliser=0.55 word:utilize=0.22 word:utils=-0.49 word:verifique=-0.21
word:verwenden=0.39 word:we=-0.23 word:weg=0.40 word:wie=-0.40 word:wird=-0.47 word:y=0.35
word:zeig=-0.31 word:étape=0.30 word:без=0.93 word:быть=0.41 word:в=-0.29 word:внизу=-0.22
word:вправо=-0.21 word:все=0.98 word:всегда=0.55 word:всё=-0.21 word:главной=-0.24
word:график=-0.26 word:для=-0.46 word:добавить=-0.34 word:добавь=-0.48 word:должен=0.71
word:если=0.48 word:ещё=-0.91 word:задачи=0.38 word:и=0.26 word:исправь=-0.44 word:как=-0.55
word:кнопку=-0.47 word:код=0.81 word:кода=0.56 word:коммите=-0.23 word:коммиты=0.33 word:меню=-0.60
word:могу=-0.49 word:на=-0.31 word:найти=-0.26 word:напиши=-0.27 word:не=0.82 word:никогда=0.37
word:ничего=-0.21 word:новую=-0.29 word:перед=1.23 word:переименуй=-0.30 word:перенеси=-0.30
word:поиск=-0.37 word:покажи=-0.78 word:показывает=-0.21 word:показывать=-0.62 word:поле=-0.37
word:последнем=-0.23 word:пробела=0.36 word:проверь=-0.33 word:русском=0.40 word:с=0.53
word:сделай=-0.55 word:сервер=-0.49 word:справа=-0.60 word:столбец=-0.22 word:страница=-0.60
word:странице=-0.24 word:таблицу=-0.37 word:тест=-0.30 word:тесты=0.32 word:то=0.29
word:только=1.03 word:убери=-0.30 word:файл=-1.04 word:файла=0.78 word:фильтр=-0.21
word:форму=-0.43 word:функцию=-0.51 word:お=-0.23 word:が=-0.22 word:け=0.30 word:す=-0.21 word:ず=0.28
word:せ=-0.23 word:た=0.24 word:だ=-0.23 word:て=-0.61 word:で=0.57 word:と=0.51 word:な=0.49 word:は=1.20
word:や=0.53 word:ら=0.26 word:ん=-0.24 word:ア=0.27 word:ク=0.21 word:ケ=0.28 word:コ=0.65 word:ス=0.22
word:デ=0.29 word:ト=0.28 word:ド=0.65 word:ハ=0.20 word:バ=0.22 word:パ=0.24 word:フ=-0.45 word:ペ=-0.24
word:ボ=-0.34 word:ラ=-0.23 word:ン=0.51 word:一=-0.40 word:下=-0.38 word:个=-0.80 word:中=0.32
word:了=-0.70 word:二=-0.23 word:代=0.36 word:以=-0.28 word:件=0.43 word:优=0.47 word:住=-0.27 word:体=0.21
word:你=0.25 word:使=0.63 word:依=0.21 word:保=0.44 word:做=0.49 word:先=0.33 word:免=0.39 word:切=0.21
word:列=-0.26 word:则=0.27 word:删=-0.22 word:别=-0.33 word:到=-0.28 word:功=0.46 word:加=-0.28
word:务=-0.26 word:化=0.26 word:及=0.37 word:变=0.24 word:口=-0.32 word:只=0.23 word:可=0.28 word:右=-0.32
word:合=0.24 word:后=-0.21 word:含=0.25 word:和=0.41 word:器=-0.37 word:在=0.20 word:外=0.23 word:多=0.30
word:字=0.27 word:存=-0.31 word:定=0.45 word:実=0.22 word:对=0.23 word:小=0.26 word:建=0.23 word:得=0.31
word:必=1.07 word:忘=-0.39 word:念=0.21 word:性=0.46 word:情=0.25 word:慮=0.27 word:成=-0.32 word:户=-0.31
word:把=-0.53 word:按=-0.34 word:搜=-0.27 word:改=-0.25 word:数=-0.24 word:文=0.56 word:方=-0.24
word:日=0.35 word:旧=-0.26 word:时=0.47 word:明=0.38 word:是=-0.60 word:更=0.37 word:替=-0.21 word:最=0.24
word:有=0.24 word:期=0.23 word:本=0.69 word:杂=0.26 word:概=0.21 word:模=0.50 word:止=0.21 word:正=-0.29
word:決=0.21 word:洁=0.31 word:测=0.30 word:添=0.28 word:环=-0.26 word:画=-0.20 word:番=-0.24 word:看=-0.25
word:码=0.26 word:确=0.71 word:示=-0.35 word:禁=0.21 word:移=-0.27 word:第=-0.24 word:答=0.22 word:简=0.44
word:索=-0.40 word:統=0.26 word:给=-0.20 word:考=0.43 word:能=0.25 word:脚=0.22 word:英=0.36 word:表=-0.40
word:要=0.53 word:見=-0.24 word:规=0.27 word:解=0.47 word:語=0.73 word:记=-0.23 word:设=0.26 word:过=0.47
word:这=-0.80 word:进=0.20 word:述=0.28 word:选=-0.41 word:適=0.54 word:遵=0.27 word:避=0.70 word:都=-0.31
word:里=-0.35 word:钮=-0.20 word:错=-0.37 word:问=0.30 word:需=-0.29 word:面=-0.21 word:页=-0.60
word:须=0.41
"""
