"""The weights of `conversation_score`, by `benchmarks/fit_conversation.py`. Pure."""

from __future__ import annotations

RULE_SCORE_WEIGHT = 1.17
ENGLISH_THRESHOLD = 1.68
ENGLISH_WEIGHTS = r"""
cue:contrast=0.28 cue:deixis=-1.12 cue:discuss=0.09 cue:future=-0.16 cue:i_state=-0.08
cue:lets=-0.09 cue:many=0.49 cue:moment=-0.68 cue:negated_order=0.17 cue:negation=0.07
cue:never_always=-0.47 cue:number=-0.08 cue:passing=-0.28 cue:past=-0.08 cue:plural_process=0.26
cue:question=-0.37 cue:rule_verb=0.54 cue:screen=-0.45 cue:short=-0.27 cue:should=0.05 cue:we=-0.13
cue:we_state=0.08 end:ad=-0.15 end:an=-0.06 end:ar=-0.05 end:at=-0.09 end:ay=-0.10 end:ch=-0.21
end:ck=-0.06 end:cs=0.15 end:ds=-0.10 end:ed=-0.10 end:em=-0.09 end:ep=-0.08 end:er=0.06
end:es=0.25 end:et=-0.05 end:ew=0.05 end:ht=0.13 end:in=-0.10 end:is=0.05 end:ks=-0.13 end:ld=0.06
end:le=-0.23 end:lt=0.16 end:ly=0.35 end:ma=0.08 end:me=-0.14 end:nd=0.11 end:ne=-0.12 end:nk=-0.13
end:ns=0.19 end:nt=0.11 end:og=0.06 end:on=0.16 end:op=-0.07 end:or=0.07 end:ow=-0.20 end:pe=0.07
end:rd=-0.05 end:re=-0.33 end:rs=0.20 end:rt=-0.10 end:ry=0.07 end:se=-0.16 end:sh=-0.09
end:ss=0.14 end:st=0.15 end:ta=0.07 end:te=0.06 end:to=-0.15 end:ts=0.14 end:ty=0.08 end:ug=-0.05
end:up=-0.07 end:ys=0.08 form:12~words=-0.33 form:2~words=0.13 form:4~words=0.24 form:7~words=-0.18
form:imperative=0.08 form:negated=0.09 form:not~first=-0.27 form:not~last=-0.26 form:question=-0.56
form:quotation=-0.29 head:abo=-0.15 head:abou=-0.15 head:acc=0.21 head:acce=0.09 head:acco=0.12
head:add=-0.07 head:adde=-0.10 head:addi=0.16 head:adm=-0.06 head:admi=-0.06 head:aft=0.07
head:afte=0.07 head:aga=-0.23 head:agai=-0.23 head:ahe=-0.06 head:ahea=-0.06 head:ali=-0.08
head:alig=-0.08 head:alp=0.10 head:alph=0.10 head:alw=-0.25 head:alwa=-0.25 head:and=-0.15
head:ano=-0.07 head:anot=-0.07 head:ans=0.04 head:answ=0.04 head:api=0.18 head:apis=0.10
head:appr=0.06 head:are=0.18 head:as=-0.08 head:ask=0.26 head:asy=0.11 head:asyn=0.11 head:at=0.11
head:auto=-0.05 head:avo=0.17 head:avoi=0.17 head:be=0.15 head:bef=0.32 head:befo=0.32
head:beg=0.11 head:begi=0.11 head:bel=0.08 head:belo=0.08 head:bot=-0.06 head:both=-0.06
head:bug=0.11 head:bui=-0.09 head:buil=-0.09 head:but=-0.13 head:butt=-0.06 head:cac=-0.07
head:cach=-0.07 head:cal=0.09 head:call=0.09 head:can=-0.19 head:car=-0.08 head:card=-0.09
head:cas=-0.11 head:case=-0.11 head:chan=-0.06 head:che=-0.17 head:chec=-0.17 head:ci=-0.08
head:cla=0.13 head:cli=-0.09 head:clic=-0.11 head:clo=-0.11 head:clos=-0.10 head:cod=0.22
head:code=0.18 head:col=-0.12 head:coll=-0.11 head:com=0.17 head:comm=0.19 head:con=0.21
head:conc=0.07 head:cond=0.04 head:cont=0.05 head:cov=0.16 head:cove=0.16 head:cre=0.13
head:cus=-0.08 head:cust=-0.08 head:dar=-0.05 head:dark=-0.05 head:dat=0.27 head:data=0.19
head:date=0.08 head:del=0.06 head:dele=0.06 head:dep=0.05 head:depe=0.11 head:depr=-0.10
head:did=-0.16 head:dif=-0.13 head:diff=-0.13 head:dis=-0.06 head:disa=-0.06 head:do=-0.09
head:doc=0.15 head:docs=-0.05 head:docu=0.27 head:doe=-0.16 head:does=-0.16 head:don=-0.20
head:don'=-0.14 head:done=-0.06 head:dro=-0.12 head:drop=-0.12 head:eac=0.19 head:each=0.19
head:ear=-0.11 head:earl=-0.11 head:edi=0.23 head:edit=0.23 head:els=-0.09 head:else=-0.09
head:emp=-0.13 head:empt=-0.13 head:ena=-0.06 head:enab=-0.06 head:end=0.14 head:eng=0.05
head:engl=0.05 head:ens=0.07 head:ensu=0.07 head:ent=-0.06 head:entr=-0.06 head:env=0.13
head:envi=0.05 head:err=0.13 head:erro=0.13 head:eve=0.28 head:ever=0.28 head:exc=0.16
head:exce=0.16 head:ext=0.08 head:extr=0.06 head:fai=-0.23 head:fail=-0.23 head:fea=0.17
head:feat=0.17 head:fir=0.08 head:firs=0.10 head:fla=-0.09 head:flak=-0.07 head:fol=0.44
head:fold=0.24 head:foll=0.20 head:for=-0.15 head:forg=-0.19 head:foun=-0.10 head:free=0.04
head:ful=0.14 head:full=0.14 head:fun=0.09 head:func=0.09 head:gen=-0.06 head:gene=-0.06
head:go=-0.06 head:goi=-0.07 head:goin=-0.07 head:had=-0.11 head:han=0.13 head:hand=0.15
head:has=-0.04 head:hav=-0.07 head:have=-0.07 head:hea=-0.05 head:head=-0.05 head:hel=-0.12
head:help=-0.12 head:her=-0.15 head:here=-0.15 head:hov=-0.06 head:hove=-0.06 head:how=-0.05
head:i'm=-0.08 head:if=0.12 head:imp=-0.14 head:impe=0.04 head:impl=-0.20 head:in=0.23
head:inp=0.14 head:inpu=0.14 head:inte=0.10 head:into=-0.14 head:iss=0.08 head:issu=0.08
head:it=-0.29 head:jav=-0.06 head:java=-0.06 head:kee=0.07 head:keep=0.07 head:key=0.05
head:keys=0.06 head:lan=0.12 head:lang=0.12 head:las=0.10 head:last=0.10 head:lay=0.22
head:laye=0.25 head:len=0.09 head:leng=0.09 head:let=-0.09 head:let'=-0.09 head:lib=0.05
head:libr=0.05 head:lim=0.07 head:limi=0.07 head:lin=0.24 head:line=0.33 head:lint=-0.08
head:lis=-0.09 head:list=-0.09 head:liv=0.06 head:live=0.06 head:log=0.10 head:logi=0.08
head:loo=-0.14 head:look=-0.10 head:many=-0.07 head:mat=-0.10 head:matt=-0.10 head:may=-0.07
head:me=-0.06 head:mea=-0.17 head:mean=-0.17 head:mer=0.10 head:merg=0.10 head:mes=0.06
head:mess=0.06 head:mind=-0.11 head:mini=0.13 head:mis=-0.22 head:miss=-0.15 head:mist=-0.07
head:modu=0.04 head:moo=0.04 head:mood=0.04 head:mor=-0.08 head:more=-0.08 head:mov=-0.05
head:move=-0.05 head:mus=0.07 head:must=0.07 head:my=-0.08 head:mys=0.11 head:myse=0.11
head:nam=0.49 head:name=0.43 head:nami=0.08 head:nes=0.05 head:nest=0.05 head:net=0.05
head:netw=0.05 head:neu=0.09 head:neut=0.09 head:nev=-0.06 head:neve=-0.06 head:new=-0.05
head:noth=-0.19 head:now=-0.25 head:nul=-0.06 head:null=-0.06 head:num=0.07 head:numb=0.07
head:old=-0.15 head:on=-0.28 head:onc=-0.06 head:once=-0.06 head:one=-0.08 head:onl=0.10
head:only=0.10 head:ope=-0.14 head:open=-0.14 head:opt=-0.14 head:opti=-0.14 head:ord=-0.12
head:orde=-0.12 head:out=0.10 head:outs=0.07 head:ove=0.11 head:over=0.11 head:pac=0.14
head:pack=0.14 head:pag=-0.21 head:page=-0.21 head:para=0.07 head:pars=-0.07 head:pat=0.06
head:per=0.09 head:pla=0.05 head:plac=0.06 head:ple=-0.07 head:plea=-0.07 head:por=-0.06
head:port=-0.06 head:pos=0.10 head:poss=0.10 head:pre=-0.11 head:prep=-0.07 head:pro=-0.10
head:prob=-0.08 head:pub=0.13 head:publ=0.13 head:pul=0.09 head:pull=0.09 head:pus=-0.10
head:push=-0.10 head:que=0.08 head:quer=0.10 head:rat=0.09 head:rath=0.09 head:rea=0.16
head:reas=0.13 head:red=-0.13 head:rei=-0.10 head:rein=-0.10 head:rem=-0.39 head:reme=-0.13
head:remo=-0.15 head:ren=-0.13 head:rena=-0.13 head:rep=0.09 head:repo=0.06 head:req=-0.12
head:requ=-0.12 head:res=0.19 head:resp=0.16 head:rest=-0.08 head:ret=-0.12 head:retu=-0.09
head:rev=-0.08 head:rou=0.05 head:rout=0.05 head:row=-0.21 head:rows=-0.12 head:run=0.11
head:sam=-0.14 head:same=-0.14 head:sav=-0.10 head:save=-0.09 head:say=0.09 head:sch=0.06
head:sche=0.06 head:scr=-0.08 head:sec=-0.07 head:seco=-0.21 head:secr=0.10 head:see=-0.15
head:sem=0.06 head:semi=0.05 head:sen=-0.06 head:ser=0.07 head:serv=0.07 head:ses=-0.07
head:sess=-0.07 head:sha=0.10 head:shar=0.10 head:sho=0.05 head:shou=-0.11 head:show=0.12
head:sin=0.07 head:sing=0.08 head:slo=-0.06 head:slow=-0.06 head:sna=-0.09 head:snap=-0.09
head:so=-0.11 head:som=0.12 head:some=0.12 head:sort=0.04 head:sou=0.16 head:sour=0.16
head:spa=0.08 head:spac=0.05 head:spe=-0.07 head:sta=0.30 head:stag=0.06 head:stat=0.14
head:ste=0.06 head:step=0.06 head:sti=0.06 head:stic=0.07 head:stop=-0.09 head:stor=0.07
head:str=0.20 head:stri=0.14 head:stru=0.08 head:sty=0.13 head:styl=0.13 head:sup=0.10
head:supp=0.10 head:sur=-0.18 head:sure=-0.18 head:swa=0.06 head:tab=-0.07 head:tak=-0.12
head:take=-0.12 head:tes=0.13 head:test=0.13 head:tha=-0.05 head:than=0.11 head:that=-0.16
head:the=-0.62 head:them=-0.19 head:then=0.14 head:ther=-0.14 head:they=0.08 head:thi=-0.30
head:thin=0.11 head:this=-0.40 head:thr=0.05 head:thre=-0.12 head:thro=0.16 head:thu=-0.05
head:tim=-0.17 head:time=-0.17 head:tit=-0.06 head:titl=-0.06 head:to=0.12 head:tod=-0.10
head:toda=-0.10 head:tol=-0.08 head:told=-0.08 head:tom=-0.07 head:too=-0.11 head:tool=-0.07
head:top=-0.06 head:tot=-0.07 head:tota=-0.07 head:tra=0.05 head:tre=0.15 head:try=-0.06
head:type=0.10 head:typo=-0.10 head:und=-0.05 head:undo=-0.05 head:unit=0.07 head:unl=0.11
head:unle=0.11 head:unu=-0.06 head:unus=-0.06 head:up=0.05 head:upd=-0.20 head:upda=-0.20
head:upl=-0.06 head:uplo=-0.06 head:use=-0.10 head:usi=-0.08 head:usin=-0.08 head:val=0.09
head:vali=0.12 head:ver=0.06 head:vers=0.09 head:vie=0.06 head:view=0.06 head:wai=0.07
head:wait=0.07 head:wan=0.10 head:want=0.10 head:way=-0.05 head:we=-0.13 head:wer=-0.05
head:were=-0.05 head:wha=0.18 head:what=0.18 head:when=-0.08 head:wher=0.12 head:why=-0.05
head:wil=-0.07 head:will=-0.09 head:win=-0.06 head:wind=-0.06 head:wit=0.17 head:with=0.17
head:wor=-0.11 head:word=0.06 head:work=-0.17 head:wri=-0.11 head:writ=-0.11 head:wro=-0.09
head:wron=-0.08 head:yes=0.09 pair:0_rows=-0.09 pair:^_a=0.07 pair:^_add=-0.22 pair:^_added=-0.12
pair:^_all=0.08 pair:^_ask=0.05 pair:^_avoid=0.13 pair:^_be=0.24 pair:^_begin=0.11 pair:^_by=-0.07
pair:^_can=-0.05 pair:^_compare=-0.16 pair:^_dependencies=0.06 pair:^_do=0.10 pair:^_document=0.05
pair:^_don't=-0.11 pair:^_each=-0.10 pair:^_end=0.06 pair:^_ensure=0.07 pair:^_errors=0.09
pair:^_every=-0.28 pair:^_fix=-0.17 pair:^_follow=0.11 pair:^_for=0.06 pair:^_forget=-0.09
pair:^_from=-0.07 pair:^_go=-0.12 pair:^_group=0.06 pair:^_handle=0.05 pair:^_i=-0.15
pair:^_i'm=-0.08 pair:^_if=0.21 pair:^_implement=-0.11 pair:^_in=-0.05 pair:^_it=-0.06
pair:^_keep=0.07 pair:^_let's=-0.09 pair:^_make=-0.06 pair:^_mention=-0.05 pair:^_my=-0.12
pair:^_names=0.08 pair:^_never=0.08 pair:^_no=-0.06 pair:^_not=-0.15 pair:^_place=0.06
pair:^_prefer=0.16 pair:^_public=0.06 pair:^_remember=-0.11 pair:^_rename=-0.09 pair:^_review=-0.11
pair:^_run=0.10 pair:^_same=-0.14 pair:^_should=-0.05 pair:^_stop=-0.24 pair:^_store=0.05
pair:^_structure=0.08 pair:^_tests=-0.14 pair:^_that=-0.11 pair:^_the=-0.24 pair:^_there=-0.08
pair:^_to=-0.13 pair:^_undo=-0.05 pair:^_update=-0.20 pair:^_validate=0.13 pair:^_we=0.06
pair:^_what=-0.09 pair:^_when=0.21 pair:^_whenever=-0.09 pair:^_why=-0.05 pair:^_write=-0.07
pair:a_bug=0.07 pair:a_new=-0.07 pair:a_pull=0.07 pair:a_test=0.20 pair:a_user=-0.12
pair:about_the=-0.09 pair:according_to=0.15 pair:after_the=0.06 pair:again_$=-0.14
pair:ahead_$=-0.06 pair:alignment_of=-0.07 pair:all_tests=-0.10 pair:alphabetically_$=0.10
pair:always_on=-0.07 pair:always_use=0.05 pair:and_push=-0.09 pair:and_the=0.14 pair:ask_for=0.09
pair:at_the=0.12 pair:automatically_when=-0.05 pair:back_$=-0.06 pair:before_committing=0.07
pair:before_deleting=0.11 pair:before_it=0.10 pair:belong_into=0.08 pair:branch_$=-0.07
pair:bug_$=-0.05 pair:build_is=-0.06 pair:by_default=-0.07 pair:can_you=-0.06 pair:change_the=-0.05
pair:changed_$=-0.13 pair:changes_$=-0.08 pair:changes_and=-0.05 pair:check_fails=-0.10
pair:code_never=0.07 pair:comes_back=-0.05 pair:comments_$=-0.09 pair:commit_messages=0.15
pair:committing_$=0.07 pair:data_$=0.07 pair:database_$=-0.05 pair:deploy_it=-0.10 pair:do_not=0.14
pair:do_you=-0.05 pair:documentation_$=0.15 pair:does_not=-0.08 pair:don't_use=-0.13
pair:early_returns=-0.11 pair:end_$=0.10 pair:endpoint_$=-0.06 pair:environment_variables=0.05
pair:errors_$=0.08 pair:errors_are=0.11 pair:every_request=-0.19 pair:every_time=-0.09
pair:exception_$=0.08 pair:exceptions_$=0.08 pair:existing_code=0.05 pair:explain_the=-0.11
pair:exports_$=0.07 pair:failing_test=-0.06 pair:fails_$=-0.22 pair:fails_with=-0.06
pair:file_$=-0.22 pair:file_and=0.12 pair:files_$=0.09 pair:files_and=-0.07 pair:first_then=0.16
pair:folder_$=0.09 pair:follow_the=0.14 pair:for_the=-0.28 pair:for_this=-0.06 pair:for_what=0.19
pair:forget_about=-0.08 pair:from_now=-0.08 pair:from_the=0.13 pair:function_$=-0.07
pair:function_to=-0.05 pair:go_ahead=-0.06 pair:has_no=-0.06 pair:have_to=0.09 pair:here_$=-0.11
pair:i'm_a=-0.06 pair:i_always=-0.05 pair:i_click=-0.07 pair:i_found=-0.06 pair:i_meant=-0.06
pair:i_prefer=-0.10 pair:i_told=-0.06 pair:i_want=0.11 pair:if_the=-0.06 pair:if_you=0.05
pair:imperative_mood=0.04 pair:implement_the=-0.07 pair:imports_by=0.08 pair:in_$=-0.09
pair:in_english=0.05 pair:in_every=0.11 pair:in_mind=-0.07 pair:in_my=-0.09 pair:in_plain=0.12
pair:in_the=0.16 pair:in_this=-0.13 pair:instead_$=-0.08 pair:instead_of=0.07 pair:into_the=0.05
pair:is_0=0.09 pair:is_blank=-0.08 pair:it_$=-0.14 pair:it_is=0.15 pair:it_to=-0.08
pair:keep_in=-0.07 pair:language_$=0.10 pair:layer_$=0.18 pair:length_is=0.09 pair:let's_do=-0.06
pair:line_length=0.09 pair:list_is=-0.05 pair:look_at=-0.09 pair:main_$=0.07 pair:make_the=-0.05
pair:me_$=-0.11 pair:message_$=-0.05 pair:mind_that=-0.06 pair:must_not=0.08 pair:name_with=0.17
pair:names_$=0.05 pair:need_the=-0.04 pair:new_endpoint=-0.07 pair:no_need=-0.04 pair:no_use=-0.05
pair:not_change=-0.17 pair:not_sure=-0.15 pair:not_the=0.19 pair:now_$=-0.15 pair:now_on=-0.08
pair:of_the=-0.07 pair:on_all=0.05 pair:on_every=-0.07 pair:on_the=-0.06 pair:one_$=-0.05
pair:only_$=0.07 pair:order_does=-0.04 pair:over_the=0.07 pair:page_$=-0.06 pair:page_is=-0.08
pair:parser_$=-0.06 pair:port_to=-0.06 pair:possible_$=0.10 pair:public_apis=0.10
pair:pull_request=0.07 pair:push_$=-0.09 pair:rather_than=0.09 pair:red_$=-0.05
pair:remember_to=-0.10 pair:request_fails=-0.15 pair:review_$=0.06 pair:run_the=0.08
pair:same_error=-0.13 pair:schema_$=0.08 pair:sent_$=-0.05 pair:short_and=0.05 pair:step_$=-0.08
pair:stop_$=-0.07 pair:stored_in=0.05 pair:strict_mode=0.08 pair:table_$=-0.05 pair:test_$=0.21
pair:test_fails=0.20 pair:tests_and=-0.18 pair:tests_are=-0.11 pair:tests_pass=-0.10
pair:that_$=-0.11 pair:that_is=-0.05 pair:that_it=0.08 pair:the_admin=-0.05
pair:the_alignment=-0.07 pair:the_build=-0.06 pair:the_cache=-0.05 pair:the_changelog=0.09
pair:the_database=-0.05 pair:the_failing=-0.07 pair:the_file=0.09 pair:the_first=-0.07
pair:the_flaky=-0.07 pair:the_form=-0.06 pair:the_function=-0.05 pair:the_header=-0.05
pair:the_imperative=0.04 pair:the_issue=0.09 pair:the_last=0.10 pair:the_list=-0.12
pair:the_name=0.04 pair:the_new=-0.17 pair:the_next=-0.07 pair:the_old=-0.15 pair:the_order=-0.05
pair:the_other=-0.12 pair:the_page=-0.09 pair:the_parser=-0.07 pair:the_readme=0.05
pair:the_repository=0.12 pair:the_review=-0.11 pair:the_second=-0.12 pair:the_source=0.10
pair:the_tests=0.09 pair:the_title=-0.06 pair:the_tool=-0.06 pair:the_two=-0.09 pair:the_types=0.06
pair:the_unused=-0.06 pair:the_window=-0.06 pair:the_wrong=-0.05 pair:them_$=-0.05
pair:them_into=-0.11 pair:there_are=-0.09 pair:think_$=-0.06 pair:this_before=-0.05
pair:this_file=-0.07 pair:through_the=0.12 pair:timeout_$=-0.06 pair:title_$=-0.05 pair:to_$=-0.15
pair:to_change=0.06 pair:to_the=0.48 pair:told_you=-0.06 pair:up_$=-0.07 pair:updated_the=-0.05
pair:use_a=-0.19 pair:use_early=-0.11 pair:use_strict=0.08 pair:use_the=-0.08 pair:using_the=-0.08
pair:versions_of=-0.07 pair:wait_for=0.09 pair:warnings_$=-0.07 pair:we_need=-0.04
pair:we_should=-0.05 pair:we_use=-0.05 pair:what_does=-0.06 pair:what_you=0.20 pair:when_i=-0.12
pair:when_the=-0.14 pair:when_you=-0.05 pair:where_possible=0.10 pair:with_a=-0.11
pair:with_context=0.06 pair:with_the=-0.13 pair:without_a=0.08 pair:write_a=-0.16
pair:writing_new=0.06 pair:you_are=-0.05 pair:you_did=-0.07 pair:you_the=-0.05 start:'m=-0.08
start:'s=-0.12 start:'t=-0.11 start:a=0.07 start:an=-0.07 start:at=-0.13 start:be=0.23
start:by=-0.07 start:ch=-0.07 start:ct=0.06 start:dd=-0.22 start:ed=-0.26 start:en=0.21
start:ep=0.07 start:er=0.12 start:es=0.32 start:et=-0.09 start:ew=-0.06 start:go=-0.12
start:he=-0.26 start:hy=-0.05 start:i=-0.15 start:ic=0.06 start:id=0.13 start:if=0.21 start:in=0.12
start:is=-0.05 start:it=-0.11 start:ix=-0.15 start:ke=-0.10 start:ld=-0.10 start:le=0.12
start:ll=0.07 start:me=-0.19 start:my=-0.12 start:nd=0.16 start:ng=-0.06 start:no=-0.06
start:ns=0.28 start:nt=-0.10 start:om=-0.08 start:on=-0.05 start:op=-0.24 start:or=0.05
start:ot=-0.15 start:ow=0.12 start:rs=0.09 start:rt=0.19 start:ry=-0.24 start:se=0.06 start:sk=0.05
start:te=-0.11 start:to=-0.16 start:ts=0.20 start:um=0.11 start:un=0.10 start:up=0.06 start:we=0.06
start:ze=0.17 tail:'m=-0.08 tail:'s=-0.11 tail:'t=-0.14 tail:ace=0.09 tail:ach=0.17 tail:ack=-0.09
tail:act=0.08 tail:ad=-0.19 tail:add=-0.14 tail:ads=-0.05 tail:ag=-0.08 tail:age=-0.08
tail:ags=0.05 tail:ain=-0.17 tail:ait=0.07 tail:ake=-0.08 tail:aks=-0.11 tail:aky=-0.07
tail:al=0.26 tail:als=0.10 tail:an=-0.16 tail:and=-0.11 tail:ank=-0.08 tail:ant=0.10 tail:any=-0.07
tail:api=0.08 tail:ard=0.05 tail:are=-0.05 tail:art=-0.05 tail:ary=0.20 tail:as=-0.10
tail:ase=-0.14 tail:ask=0.20 tail:ass=-0.06 tail:ast=0.10 tail:at=0.08 tail:ata=0.23 tail:ave=-0.12
tail:ay=-0.14 tail:ays=-0.17 tail:be=0.13 tail:ber=-0.05 tail:ble=0.05 tail:bug=0.11 tail:but=-0.08
tail:can=-0.15 tail:ce=0.05 tail:ces=0.10 tail:ch=-0.09 tail:che=-0.06 tail:ci=-0.08 tail:ck=-0.16
tail:cs=-0.05 tail:ct=0.08 tail:day=-0.14 tail:dd=-0.12 tail:de=0.35 tail:ded=-0.14 tail:did=-0.16
tail:dit=0.17 tail:dle=0.05 tail:dme=0.05 tail:do=-0.14 tail:dow=-0.06 tail:ead=-0.05
tail:ean=-0.06 tail:ear=0.06 tail:eck=-0.07 tail:ect=-0.10 tail:ed=-0.17 tail:eed=-0.05
tail:een=-0.06 tail:eep=0.07 tail:elf=0.09 tail:ell=-0.06 tail:elp=-0.06 tail:em=-0.25
tail:ema=0.08 tail:en=-0.06 tail:end=0.25 tail:ens=-0.14 tail:ent=-0.10 tail:ep=0.18 tail:ere=-0.20
tail:ery=0.14 tail:es=0.82 tail:ess=0.16 tail:est=-0.05 tail:et=-0.04 tail:ets=0.12 tail:ew=-0.09
tail:ext=0.07 tail:ey=0.11 tail:eys=0.06 tail:fix=-0.04 tail:ge=-0.07 tail:ged=0.14 tail:ger=0.06
tail:ges=0.17 tail:get=-0.14 tail:gh=0.07 tail:ght=0.09 tail:gic=0.15 tail:gin=0.09 tail:gle=0.08
tail:go=-0.08 tail:got=-0.08 tail:gs=0.10 tail:gth=0.09 tail:had=-0.11 tail:han=0.11 tail:he=-0.47
tail:hem=-0.19 tail:hen=0.15 tail:her=-0.10 tail:hey=0.08 tail:hin=0.14 tail:his=-0.40
tail:how=0.04 tail:ht=0.09 tail:hy=-0.05 tail:i'm=-0.08 tail:ic=0.28 tail:ice=-0.05 tail:ict=0.09
tail:ies=0.05 tail:if=0.12 tail:il=-0.06 tail:ild=-0.10 tail:ile=-0.07 tail:ill=-0.10
tail:ils=-0.11 tail:ilt=0.05 tail:ime=-0.16 tail:in=0.12 tail:ind=-0.08 tail:ine=0.16 tail:ing=0.16
tail:ink=-0.04 tail:ins=0.05 tail:int=0.08 tail:ion=0.18 tail:ipt=-0.05 tail:is=-0.29
tail:ist=-0.16 tail:it=-0.10 tail:ite=0.07 tail:ith=-0.07 tail:ity=0.11 tail:ive=0.21 tail:ix=-0.04
tail:ize=0.17 tail:ke=-0.11 tail:ken=-0.09 tail:ker=-0.04 tail:kes=-0.11 tail:ks=-0.20
tail:ky=-0.07 tail:lag=-0.08 tail:ld=-0.44 tail:le=0.09 tail:led=-0.14 tail:lem=-0.07
tail:ler=-0.05 tail:les=0.11 tail:lf=0.09 tail:lic=0.13 tail:ll=-0.10 tail:lls=0.11 tail:lly=0.16
tail:log=0.08 tail:low=0.19 tail:loy=-0.10 tail:lp=-0.06 tail:ls=0.10 tail:lse=-0.09 tail:lt=0.20
tail:ly=0.30 tail:ma=0.08 tail:may=-0.06 tail:mes=0.06 tail:min=-0.06 tail:mit=0.09 tail:ms=-0.13
tail:mum=0.12 tail:my=-0.08 tail:n't=-0.14 tail:nal=0.12 tail:nce=-0.05 tail:nch=-0.10
tail:nd=-0.06 tail:ndo=-0.05 tail:nds=0.06 tail:ned=0.12 tail:nes=0.12 tail:new=-0.05 tail:ng=0.16
tail:ngs=0.08 tail:nit=0.07 tail:nk=-0.13 tail:nly=0.10 tail:not=0.14 tail:now=-0.19 tail:ns=0.42
tail:nt=0.07 tail:nto=-0.14 tail:nts=0.49 tail:ny=-0.07 tail:ocs=-0.12 tail:od=0.04 tail:ode=0.30
tail:oes=-0.16 tail:og=0.08 tail:oid=0.17 tail:ok=-0.06 tail:ol=-0.06 tail:old=-0.15 tail:ome=0.08
tail:on=-0.13 tail:ond=-0.13 tail:one=-0.14 tail:ons=0.69 tail:ood=0.04 tail:ook=-0.06
tail:ool=-0.06 tail:op=-0.20 tail:ope=0.07 tail:or=0.06 tail:ore=0.25 tail:orm=-0.07 tail:ors=0.19
tail:ort=-0.11 tail:ory=0.10 tail:ose=-0.08 tail:oth=-0.09 tail:ous=0.09 tail:out=0.05
tail:ove=-0.12 tail:ow=-0.15 tail:own=0.07 tail:ows=-0.16 tail:oy=-0.10 tail:ped=-0.12
tail:pen=-0.06 tail:pes=0.13 tail:pi=0.08 tail:pis=0.10 tail:po=-0.11 tail:pt=-0.05 tail:pty=-0.13
tail:put=0.12 tail:ral=0.06 tail:rce=0.10 tail:rd=0.05 tail:re=0.19 tail:red=0.08 tail:res=0.08
tail:rk=-0.06 tail:rks=-0.10 tail:rly=-0.11 tail:rm=-0.09 tail:rms=-0.05 tail:rns=-0.06
tail:row=-0.15 tail:rry=-0.08 tail:rs=0.23 tail:rst=0.10 tail:rt=-0.20 tail:rts=0.25 tail:run=0.12
tail:ry=0.28 tail:say=0.13 tail:se=-0.08 tail:sed=-0.05 tail:ses=0.08 tail:set=0.18 tail:sh=-0.07
tail:sk=0.20 tail:so=-0.11 tail:ss=0.05 tail:st=-0.06 tail:sts=-0.07 tail:sue=0.08 tail:t's=-0.10
tail:ta=0.23 tail:tal=-0.05 tail:tch=-0.06 tail:te=0.16 tail:ted=0.08 tail:tes=0.11 tail:th=-0.08
tail:the=-0.45 tail:tle=-0.06 tail:tly=0.12 tail:ton=-0.05 tail:top=-0.14 tail:try=-0.10
tail:ts=0.71 tail:ue=-0.21 tail:ug=0.11 tail:ugh=0.07 tail:uld=-0.17 tail:ull=0.09 tail:ult=0.15
tail:um=0.05 tail:un=0.17 tail:und=-0.11 tail:ure=0.11 tail:urn=-0.08 tail:us=0.07 tail:use=0.21
tail:ush=-0.10 tail:ut=0.09 tail:ve=-0.08 tail:ved=-0.10 tail:we=-0.13 tail:why=-0.05 tail:wn=0.07
tail:ws=-0.10 tail:xt=0.07 tail:yer=0.18 tail:yle=0.20 tail:ype=-0.06 tail:ypo=-0.10 tail:ys=-0.11
tail:ze=0.17 word:0=-0.05 word:a=-0.34 word:about=-0.15 word:according=0.15 word:add=-0.14
word:added=-0.10 word:adding=0.16 word:admin=-0.06 word:after=0.07 word:again=-0.23
word:ahead=-0.06 word:alignment=-0.07 word:alphabetically=0.10 word:always=-0.25 word:and=-0.15
word:another=-0.07 word:answers=0.05 word:api=0.08 word:apis=0.10 word:are=0.18 word:as=-0.08
word:ask=0.20 word:at=0.11 word:automatically=-0.05 word:avoid=0.17 word:back=-0.09
word:backwards=0.06 word:be=0.15 word:before=0.32 word:begin=0.11 word:belong=0.08 word:blank=-0.08
word:both=-0.06 word:branches=0.05 word:breaks=-0.11 word:bug=0.11 word:build=-0.10 word:but=-0.08
word:button=-0.05 word:cache=-0.06 word:calls=0.11 word:can=-0.15 word:case=-0.11 word:change=-0.06
word:changelog=0.09 word:changes=-0.06 word:check=-0.07 word:ci=-0.08 word:class=-0.06
word:click=-0.07 word:closes=-0.04 word:code=0.18 word:come=0.08 word:comes=-0.05
word:command=-0.06 word:commit=0.08 word:committing=0.07 word:compare=-0.16 word:component=-0.05
word:components=0.10 word:context=0.19 word:data=0.23 word:date=0.05 word:deleting=0.11
word:dependencies=0.07 word:deploy=-0.10 word:deprecated=-0.10 word:descriptive=0.05 word:did=-0.16
word:do=-0.09 word:docs=-0.12 word:docstrings=0.07 word:document=0.05 word:documentation=0.14
word:does=-0.16 word:don't=-0.14 word:done=-0.06 word:dropdown=-0.06 word:each=0.19
word:early=-0.11 word:edit=0.20 word:else=-0.09 word:empty=-0.13 word:end=0.17 word:endpoint=-0.07
word:english=0.05 word:ensure=0.07 word:entries=-0.06 word:environment=0.05 word:error=-0.06
word:errors=0.19 word:every=0.14 word:exception=0.08 word:exceptions=0.08 word:explain=-0.07
word:exports=0.06 word:failing=-0.11 word:fails=-0.08 word:feature=0.14 word:files=0.08
word:first=0.10 word:fix=-0.06 word:flag=-0.08 word:flags=0.05 word:flaky=-0.07 word:folder=0.23
word:follow=0.20 word:forget=-0.11 word:form=-0.07 word:found=-0.10 word:full=0.14
word:function=-0.13 word:functions=0.21 word:go=-0.06 word:going=-0.07 word:had=-0.11
word:handle=0.05 word:happens=-0.09 word:have=-0.07 word:header=-0.05 word:help=-0.06
word:here=-0.15 word:hover=-0.06 word:how=-0.05 word:i=-0.53 word:i'm=-0.08 word:if=0.12
word:imperative=0.04 word:implement=-0.12 word:import=-0.14 word:imports=0.20 word:in=0.23
word:input=0.14 word:interface=0.07 word:into=-0.14 word:issue=0.08 word:it=-0.29
word:javascript=-0.06 word:keep=0.07 word:keys=0.06 word:language=0.10 word:last=0.10
word:layer=0.18 word:length=0.09 word:let's=-0.09 word:library=0.09 word:line=0.19 word:lines=0.14
word:lint=-0.09 word:list=-0.14 word:lists=0.05 word:logic=0.13 word:login=-0.08 word:look=-0.09
word:many=-0.07 word:may=-0.06 word:me=-0.06 word:meant=-0.08 word:merged=0.11 word:message=-0.08
word:messages=0.14 word:migrations=0.05 word:mind=-0.11 word:minimum=0.09 word:missing=-0.15
word:mistakes=-0.07 word:mood=0.04 word:more=-0.08 word:move=-0.05 word:must=0.07 word:my=-0.08
word:myself=0.11 word:name=0.26 word:names=0.14 word:naming=0.08 word:network=0.05
word:neutral=0.09 word:never=-0.06 word:new=-0.05 word:not=0.18 word:nothing=-0.19 word:now=-0.25
word:null=-0.05 word:number=0.08 word:old=-0.15 word:on=-0.28 word:once=-0.06 word:one=-0.06
word:only=0.10 word:open=-0.19 word:option=-0.17 word:order=-0.12 word:other=-0.09
word:outside=0.07 word:over=0.15 word:own=0.06 word:package=0.10 word:page=-0.21 word:parser=-0.07
word:place=0.06 word:please=-0.07 word:port=-0.06 word:possible=0.10 word:problem=-0.07
word:project=-0.06 word:public=0.13 word:pull=0.09 word:push=-0.10 word:queries=0.10
word:quotes=0.08 word:rather=0.09 word:readme=0.05 word:red=-0.08 word:remember=-0.13
word:remove=-0.07 word:removed=-0.08 word:rename=-0.09 word:report=-0.05 word:repository=0.12
word:request=-0.26 word:restart=-0.08 word:result=0.05 word:return=-0.08 word:returned=0.10
word:returns=-0.11 word:row=-0.09 word:rows=-0.12 word:run=0.12 word:same=-0.14 word:save=-0.09
word:say=0.13 word:schema=0.08 word:second=-0.18 word:secrets=0.10 word:sent=-0.05 word:server=0.09
word:set=0.05 word:shared=0.10 word:should=-0.11 word:show=0.09 word:shown=0.07 word:single=0.08
word:slow=-0.06 word:so=-0.11 word:something=0.16 word:source=0.10 word:spaces=0.09
word:staging=0.06 word:state=0.08 word:stop=-0.09 word:strict=0.09 word:structure=0.08
word:style=0.20 word:styling=-0.07 word:summary=-0.07 word:support=0.10 word:sure=-0.18
word:takes=-0.05 word:test=0.29 word:tests=-0.16 word:text=-0.08 word:than=0.11 word:that=-0.16
word:the=-0.45 word:them=-0.19 word:then=0.14 word:there=-0.14 word:they=0.08 word:thing=0.07
word:this=-0.40 word:three=-0.09 word:through=0.07 word:time=-0.16 word:timeout=-0.06
word:title=-0.06 word:to=0.12 word:today=-0.10 word:told=-0.08 word:tool=-0.06 word:top=-0.05
word:try=-0.06 word:type=-0.06 word:types=0.13 word:typo=-0.10 word:undo=-0.05 word:unit=0.07
word:unless=0.11 word:unused=-0.06 word:up=0.05 word:update=-0.11 word:updated=-0.07 word:user=0.04
word:users=-0.05 word:using=-0.08 word:validate=0.12 word:variable=-0.04 word:variables=0.08
word:version=-0.07 word:versions=0.11 word:wait=0.07 word:want=0.11 word:we=-0.13 word:were=-0.05
word:what=0.18 word:whenever=-0.09 word:where=0.12 word:why=-0.05 word:will=-0.09 word:window=-0.06
word:with=-0.07 word:without=0.16 word:work=-0.06 word:works=-0.10 word:write=-0.14
word:writing=0.06 word:wrong=-0.08
"""
OTHER_THRESHOLD = 0.74
OTHER_WEIGHTS = r"""
cue:many=0.40 cue:negated_order=-0.38 cue:number=-0.63 cue:order=0.30 cue:question=-0.22
cue:rule_verb=0.21 cue:short=0.39 end:ar=-0.47 end:ci=-0.32 end:cs=0.24 end:da=-0.37 end:de=0.33
end:en=-0.23 end:gs=0.25 end:ie=-0.22 end:io=0.29 end:it=0.34 end:ma=0.29 end:nd=0.38 end:no=0.34
end:nx=0.25 end:op=0.51 end:or=-0.29 end:pm=0.28 end:se=0.32 end:st=0.63 end:tc=0.25 end:ts=-0.56
end:ur=-0.28 end:vo=-0.29 end:ão=-0.22 end:ах=0.26 end:ем=0.35 end:ет=-0.43 end:ии=-0.36
end:ла=-0.28 end:ло=-0.23 end:са=-0.22 end:ст=0.39 end:сь=-0.32 end:ся=-0.43 end:те=0.26
end:ть=0.27 end:ずです=-0.30 end:ました=-0.26 end:を通す=0.21 form:12~words=-0.64 form:2~words=-0.76
form:4~words=0.26 form:7~words=-0.75 form:imperative=0.30 form:not~last=-0.22 form:question=-0.37
form:quotation=-0.54 head:abr=-0.50 head:abri=-0.24 head:acti=0.22 head:afi=0.35 head:afir=0.35
head:algo=0.21 head:als=0.27 head:an=0.28 head:antw=0.31 head:any=0.40 head:api=0.31 head:apr=0.27
head:apro=0.30 head:arr=-0.30 head:art=-0.39 head:arti=-0.31 head:así=-0.31 head:att=0.23
head:atte=0.25 head:ava=0.34 head:avan=0.32 head:avi=-0.33 head:avis=-0.33 head:bac=0.63
head:back=0.63 head:bast=-0.22 head:beg=0.27 head:bei=-0.27 head:beid=-0.22 head:bene=0.23
head:bev=0.22 head:bevo=0.22 head:bie=-0.33 head:bien=-0.33 head:bot=-0.26 head:bou=-0.36
head:bout=-0.36 head:bre=0.48 head:brev=0.24 head:bui=-0.21 head:buil=-0.21 head:but=0.23
head:c'e=-0.21 head:c'es=-0.21 head:cac=-0.34 head:cach=-0.34 head:cad=0.68 head:cada=0.68
head:cap=-0.31 head:ce=-0.21 head:cen=0.40 head:cent=0.40 head:cha=0.57 head:chaq=0.54
head:che=-0.35 head:cho=0.26 head:chos=0.26 head:chr=-0.28 head:chro=-0.28 head:cite=0.25
head:cla=0.66 head:clar=0.30 head:clas=0.36 head:cod=0.29 head:code=0.29 head:come=0.28
head:comp=-0.43 head:con=-0.24 head:conf=-0.24 head:conj=0.24 head:coq=-0.34 head:coqu=-0.34
head:cor=-0.25 head:corr=-0.37 head:cre=-0.28 head:css=0.53 head:cui=0.29 head:cuid=0.29
head:cód=0.23 head:códi=0.23 head:d'a=-0.28 head:d'i=-0.22 head:da=-0.40 head:das=-0.41
head:dat=0.32 head:dato=0.22 head:de=0.29 head:deb=-0.25 head:dep=0.26 head:depe=0.22
head:depl=0.23 head:des=-0.32 head:deu=-0.29 head:deux=-0.37 head:dev=0.41 head:deve=0.35
head:dic=0.23 head:dich=0.25 head:dies=-0.34 head:do=0.23 head:doc=0.62 head:docs=0.48 head:du=0.23
head:einf=0.22 head:eje=-0.29 head:ejec=-0.29 head:emp=0.22 head:enc=-0.35 head:enco=-0.25
head:eng=0.29 head:engl=0.29 head:ent=-0.69 head:entr=-0.52 head:erk=0.24 head:erkl=0.24
head:err=-0.50 head:erra=-0.31 head:es=-0.57 head:espa=0.29 head:est=-0.37 head:esto=-0.24
head:eu=-0.30 head:exi=0.28 head:exis=0.24 head:expe=-0.25 head:expl=0.31 head:fac=0.27
head:fach=0.34 head:fais=0.22 head:fal=-0.67 head:fall=-0.35 head:fals=-0.27 head:fen=-0.26
head:fer=-0.28 head:fil=-0.33 head:filt=-0.31 head:fir=-0.28 head:fire=-0.28 head:foi=-0.21
head:fois=-0.21 head:fon=0.33 head:fonc=0.26 head:for=-0.41 head:fra=0.33 head:fro=0.30
head:fron=0.30 head:func=-0.23 head:funk=0.29 head:gehö=0.33 head:gem=0.22 head:geme=0.22
head:git=0.22 head:gith=0.22 head:gra=0.40 head:grad=0.33 head:gran=0.23 head:gro=0.26
head:gua=0.24 head:guar=0.24 head:gui=-0.22 head:hab=-0.45 head:habe=-0.36 head:hat=-0.46
head:hie=-0.27 head:hier=-0.27 head:hom=0.25 head:homo=0.25 head:ich=-0.61 head:ico=0.22
head:icon=0.22 head:il=-0.28 head:imm=0.22 head:imme=0.22 head:in=0.36 head:ins=-0.55
head:inst=-0.59 head:inte=-0.21 head:j'a=-0.51 head:j'ai=-0.42 head:je=-0.34 head:jed=0.50
head:jede=0.50 head:kan=-0.24 head:kann=-0.24 head:kla=0.33 head:kno=-0.22 head:knop=-0.22
head:kön=-0.32 head:könn=-0.32 head:l'a=-0.45 head:l'an=-0.36 head:l'e=-0.34 head:lanc=-0.24
head:lang=0.31 head:leg=0.57 head:lega=0.53 head:lie=0.31 head:lieu=0.26 head:lig=0.39
head:lign=0.39 head:lin=0.40 head:linh=0.36 head:lla=0.30 head:llev=0.24 head:lo=-0.23
head:los=0.28 head:luc=0.27 head:luci=0.27 head:lín=0.30 head:líne=0.30 head:lóg=0.29
head:lógi=0.29 head:mac=-0.23 head:mach=-0.23 head:mal=-0.25 head:man=-0.24 head:mar=-0.24
head:marc=-0.27 head:mav=0.33 head:mave=0.33 head:mel=-0.43 head:meld=-0.26 head:menc=0.23
head:menú=-0.22 head:mex=0.22 head:mexe=0.22 head:mic=0.27 head:mich=0.27 head:mit=-0.25
head:mm=0.23 head:mod=0.32 head:modi=0.42 head:moi=0.36 head:muda=0.26 head:mys=0.31 head:mysq=0.31
head:mêm=0.26 head:même=0.26 head:n'u=0.29 head:n'ut=0.29 head:nad=-0.25 head:nada=-0.25
head:neut=0.40 head:ngi=0.40 head:ngin=0.40 head:nie=0.23 head:nom=0.26 head:nomb=0.22
head:nur=0.28 head:nut=0.26 head:nutz=0.26 head:núm=0.37 head:núme=0.37 head:ob=-0.31 head:os=0.39
head:otr=-0.32 head:out=-0.26 head:outr=-0.26 head:pag=-0.42 head:page=-0.38 head:par=0.26
head:pas=-0.26 head:pasa=-0.24 head:pass=-0.22 head:past=0.21 head:perg=0.27 head:peut=-0.25
head:pla=0.69 head:plan=0.23 head:plat=0.53 head:pnp=0.45 head:pnpm=0.45 head:pos=0.31
head:post=0.31 head:pr=0.26 head:pre=0.32 head:pref=0.23 head:preg=0.34 head:pri=-0.45
head:prin=0.22 head:pro=0.41 head:prob=-0.43 head:prod=0.85 head:pré=-0.22 head:prép=-0.38
head:pub=0.22 head:publ=0.22 head:pyt=0.77 head:pyth=0.62 head:pág=-0.54 head:pági=-0.54
head:quan=-0.42 head:que=-0.33 head:rech=-0.40 head:reg=-0.23 head:rei=-0.34 head:rein=-0.24
head:rel=0.44 head:ren=-0.24 head:reno=-0.23 head:repa=-0.26 head:repo=0.63 head:repr=-0.26
head:req=-0.22 head:requ=-0.22 head:res=0.52 head:reso=-0.23 head:resp=0.82 head:ret=-0.29
head:rev=0.44 head:revi=0.49 head:rod=-0.26 head:rou=0.30 head:rout=0.30 head:s'a=0.27
head:sal=-0.27 head:schl=-0.27 head:scho=-0.28 head:sei=-0.23 head:sein=0.25 head:seit=-0.45
head:sem=0.35 head:ser=0.24 head:serv=0.36 head:seu=0.34 head:seul=0.34 head:sig=-0.44
head:sign=-0.25 head:sim=0.24 head:simp=0.24 head:sin=0.39 head:sob=-0.29 head:soll=-0.23
head:solo=0.25 head:somo=-0.24 head:spr=0.39 head:spra=0.23 head:sta=0.42 head:stab=0.23
head:subi=-0.28 head:supo=0.24 head:tab=0.55 head:tel=-0.33 head:tem=-0.37 head:temp=-0.31
head:ten=-0.73 head:teng=-0.34 head:tenh=-0.21 head:tex=0.26 head:text=0.26 head:tie=-0.29
head:toda=-0.24 head:ton=0.40 head:touc=0.23 head:tra=0.58 head:trad=0.36 head:tut=0.70
head:uni=0.42 head:uniq=0.26 head:usa=0.29 head:use=0.28 head:utc=0.26 head:va=0.24 head:var=-0.34
head:vari=-0.34 head:ver=-0.45 head:vid=-0.30 head:vide=-0.30 head:vie=-0.34 head:vien=-0.22
head:von=0.29 head:war=-0.23 head:wik=0.22 head:wiki=0.22 head:wil=0.32 head:will=0.32
head:wir=0.50 head:wird=0.25 head:wur=-0.31 head:wurd=-0.23 head:zei=0.33 head:änd=0.67
head:ände=0.67 head:ça=-0.56 head:éch=-0.35 head:écho=-0.33 head:öffe=0.22 head:öffn=-0.28
head:вер=-0.27 head:верн=-0.22 head:воз=-0.30 head:всех=0.29 head:вхо=-0.27 head:вход=-0.27
head:гла=-0.23 head:глав=-0.23 head:дву=-0.32 head:дли=0.21 head:длин=0.21 head:дол=-0.23
head:долж=-0.23 head:заг=-0.22 head:закр=-0.37 head:зап=-0.45 head:запу=-0.34 head:инт=0.31
head:инте=0.31 head:испо=0.24 head:каж=0.70 head:кажд=0.79 head:кла=0.34 head:кно=-0.30
head:кноп=-0.30 head:код=0.33 head:ком=0.38 head:комм=0.25 head:кон=0.23 head:мож=-0.36
head:може=-0.31 head:нас=0.30 head:нет=-0.21 head:ник=0.27 head:нов=-0.23 head:нуж=0.25
head:нужн=0.25 head:обн=-0.33 head:обно=-0.33 head:окн=-0.32 head:окно=-0.32 head:опе=-0.44
head:опеч=-0.44 head:отв=0.68 head:отве=0.68 head:отд=0.25 head:отде=0.25 head:отк=-0.41
head:откр=-0.35 head:оши=-0.26 head:ошиб=-0.26 head:пад=-0.33 head:пада=-0.28 head:пар=-0.39
head:пол=-0.38 head:пос=-0.29 head:прид=0.31 head:про=-0.26 head:пров=0.28 head:прое=0.27
head:прои=-0.27 head:рек=0.22 head:реп=0.22 head:репо=0.22 head:сбо=-0.21 head:сво=-0.28
head:сде=-0.31 head:сдел=-0.31 head:спр=0.39 head:спро=0.40 head:ста=-0.32 head:стар=-0.43
head:стра=-0.56 head:стро=0.32 head:сущ=0.34 head:суще=0.34 head:схе=0.21 head:схем=0.21
head:тер=0.22 head:то=0.21 head:тут=-0.28 head:уже=-0.30 head:форм=0.25 head:фун=0.22
head:функ=0.22 head:хра=0.26 head:хран=0.26 head:чем=0.23 head:чис=0.31 head:числ=0.31
head:эта=-0.24 head:эти=-0.46 head:этим=-0.45 head:это=-0.32 head:этой=-0.21 head:этом=0.30
head:язы=0.49 head:язык=0.49 pair:0_$=-0.61 pair:0_resultados=-0.25 pair:^_bitte=-0.34
pair:^_c'est=-0.29 pair:^_ce=-0.43 pair:^_ci=0.35 pair:^_cite=0.25 pair:^_de=-0.31 pair:^_du=-0.24
pair:^_es=-0.28 pair:^_fehler=0.25 pair:^_fehlermeldungen=0.34 pair:^_j'ai=-0.34 pair:^_la=0.49
pair:^_los=0.21 pair:^_n'utilise=0.29 pair:^_nada=0.29 pair:^_no=-0.40 pair:^_on=0.29
pair:^_para=0.42 pair:^_pasa=-0.24 pair:^_pode=0.25 pair:^_todas=-0.25 pair:^_без=0.32
pair:^_в=-0.27 pair:^_для=0.29 pair:^_написать=-0.23 pair:^_переводы=0.23 pair:^_по=-0.21
pair:^_сообщения=0.26 pair:^_そ=-0.25 pair:^_ト=-0.24 pair:^_ロ=-0.23 pair:^_先=0.22 pair:^_内=-0.25
pair:^_再=0.24 pair:^_只=0.22 pair:^_大=0.38 pair:^_小=0.21 pair:^_就=-0.23 pair:^_有=0.30 pair:^_登=-0.23
pair:^_金=0.35 pair:^_错=0.37 pair:a_cada=0.37 pair:a_main=0.26 pair:arquivo_$=-0.21
pair:backend_$=0.40 pair:bei_uns=0.28 pair:bien_$=-0.31 pair:bouton_$=-0.23 pair:branch_$=-0.21
pair:cada_vez=-0.23 pair:classe_$=0.23 pair:code_$=0.26 pair:commits_$=-0.58 pair:con_los=-0.25
pair:contexto_$=0.27 pair:dans_le=0.26 pair:de_homologação=0.25 pair:de_la=-0.32 pair:de_novo=-0.27
pair:de_plataforma=0.28 pair:den_code=0.26 pair:develop_$=0.51 pair:die_variable=-0.21
pair:docs_$=0.24 pair:en_el=0.23 pair:en_vez=0.31 pair:esquema_$=0.25 pair:github_actions=0.22
pair:ist_$=-0.33 pair:le_bouton=-0.23 pair:les_deux=-0.22 pair:lo_que=0.37 pair:lucide_$=0.25
pair:machen_$=-0.25 pair:maven_$=0.31 pair:mit_den=-0.38 pair:nada_$=-0.29 pair:ne_doit=0.28
pair:nginx_$=0.25 pair:no_se=0.24 pair:o_código=0.29 pair:pas_de=0.27 pair:pnpm_$=0.28
pair:pode_me=0.28 pair:por_pull=0.28 pair:principal_se=0.24 pair:python_$=0.54 pair:que_antes=-0.21
pair:que_ce=0.29 pair:que_la=-0.24 pair:repositório_$=0.25 pair:request_$=0.25 pair:routes_$=0.25
pair:serveur_de=0.26 pair:stehen_$=0.22 pair:test_$=0.32 pair:toda_função=0.23
pair:toutes_les=-0.31 pair:usa_solo=0.30 pair:utc_$=0.25 pair:vale_para=0.23 pair:vez_de=0.41
pair:vez_que=-0.31 pair:y_no=-0.31 pair:ya_no=0.21 pair:échoue_$=-0.28 pair:код_$=0.21
pair:падают_$=-0.27 pair:реквест_$=0.33 pair:у_каждой=0.27 pair:у_меня=-0.48 pair:у_нас=0.37
pair:あ_り=-0.39 pair:い_$=0.32 pair:い_う=0.30 pair:い_て=0.30 pair:い_と=-0.31 pair:い_の=-0.29
pair:う_い=0.30 pair:う_に=-0.24 pair:え_る=0.25 pair:き_ま=-0.25 pair:け_$=0.24 pair:こ_う=0.30
pair:こ_の=-0.43 pair:さ_な=0.30 pair:し_た=-0.60 pair:し_に=0.22 pair:す_$=-0.52 pair:す_か=-0.21
pair:す_る=0.79 pair:ず_で=-0.45 pair:せ_て=0.28 pair:た_$=-0.52 pair:っ_た=-0.22 pair:で_き=-0.22
pair:で_す=-0.37 pair:で_表=0.23 pair:と_$=0.29 pair:と_思=-0.22 pair:な_し=0.28 pair:に_コ=0.26
pair:の_で=-0.46 pair:は_ず=-0.45 pair:は_毎=0.23 pair:ま_し=-0.36 pair:ま_す=-0.38 pair:よ_り=0.40
pair:り_ま=-0.32 pair:る_$=0.46 pair:る_の=-0.30 pair:る_は=-0.28 pair:る_フ=0.23 pair:を_使=-0.21
pair:を_通=0.22 pair:ジ_を=-0.22 pair:ッ_プ=-0.36 pair:ト_の=0.40 pair:ト_は=0.24 pair:ト_を=-0.38
pair:ト_ッ=-0.24 pair:ペ_ー=-0.26 pair:ボ_タ=-0.22 pair:ラ_ス=0.23 pair:ロ_グ=-0.25 pair:ー_が=-0.23
pair:一_下=-0.39 pair:一_律=0.33 pair:一_遍=0.29 pair:上_传=-0.24 pair:下_周=-0.22 pair:不_对=-0.37
pair:不_得=0.26 pair:不_用=0.25 pair:不_能=0.27 pair:不_要=0.62 pair:两_个=0.28 pair:个_类=0.45 pair:之_后=-0.26
pair:了_$=-0.54 pair:保_持=0.25 pair:値_は=0.21 pair:先_给=0.21 pair:入_れ=0.24 pair:再_写=0.24 pair:写_注=0.31
pair:前_に=0.25 pair:前_先=0.34 pair:加_载=-0.24 pair:务_器=0.22 pair:化_$=-0.30 pair:只_用=0.25 pair:号_$=0.26
pair:名_词=0.22 pair:回_答=0.43 pair:图_$=-0.26 pair:图_标=0.27 pair:块_$=0.33 pair:変_更=0.25 pair:大_き=0.27
pair:失_败=-0.29 pair:实_是=-0.28 pair:导_出=-0.28 pair:小_的=0.48 pair:小_项=-0.27 pair:就_行=0.28
pair:应_该=-0.24 pair:情_况=0.21 pair:我_$=0.25 pair:我_们=0.66 pair:我_没=-0.32 pair:我_看=0.21 pair:推_測=0.24
pair:提_交=0.34 pair:改_动=0.28 pair:放_在=0.27 pair:数_値=0.25 pair:数_字=0.21 pair:整_$=-0.24 pair:文_件=-0.43
pair:文_字=0.23 pair:旧_版=-0.36 pair:明_天=-0.21 pair:更_の=0.24 pair:更_新=-0.51 pair:書_き=0.23
pair:析_器=-0.25 pair:样_的=-0.22 pair:检_查=0.33 pair:没_有=-0.43 pair:注_释=0.33 pair:版_本=-0.27
pair:理_由=0.34 pair:登_录=-0.30 pair:的_$=0.41 pair:的_小=-0.27 pair:的_提=0.24 pair:確_認=0.29 pair:示_す=0.22
pair:管_理=0.26 pair:结_构=0.29 pair:给_我=0.21 pair:统_一=0.21 pair:自_己=-0.29 pair:要_用=0.29 pair:解_析=-0.25
pair:试_服=0.29 pair:败_$=-0.27 pair:通_す=0.22 pair:部_署=0.21 pair:都_会=0.36 pair:里_不=0.27 pair:金_额=0.23
pair:错_误=0.31 pair:问_我=0.29 pair:问_题=-0.31 pair:项_目=0.27 pair:顺_序=-0.24 start:ai=-0.34
start:ce=-0.48 start:da=0.41 start:du=-0.24 start:ei=-0.63 start:em=0.31 start:en=0.51
start:er=-0.35 start:es=0.36 start:go=-0.23 start:he=0.53 start:ia=-0.24 start:is=0.27
start:la=0.49 start:me=0.56 start:ne=0.24 start:no=-0.34 start:ns=0.34 start:os=0.68 start:ra=0.70
start:sa=-0.21 start:st=-0.52 start:ta=0.23 start:te=0.34 start:ts=0.28 start:ze=0.22
start:аю=-0.29 start:в=-0.27 start:да=-0.30 start:ды=0.25 start:ез=0.32 start:ие=0.29 start:ии=0.29
start:ия=0.22 start:ка=-0.57 start:ки=0.55 start:ла=0.26 start:ля=0.29 start:но=-0.53 start:ня=0.27
start:ок=-0.21 start:по=-0.21 start:ти=-0.25 start:ть=-0.27 start:ую=0.36 start:ые=0.41
start:そ=-0.25 start:ト=-0.24 start:ロ=-0.23 start:先=0.22 start:内=-0.25 start:再=0.24 start:只=0.22
start:大=0.38 start:小=0.21 start:就=-0.23 start:有=0.30 start:登=-0.23 start:金=0.35 start:错=0.37
tail:'ai=-0.50 tail:aba=-0.25 tail:acy=0.57 tail:ada=0.25 tail:age=-0.53 tail:ags=0.25
tail:ai=-0.57 tail:aie=-0.23 tail:ait=-0.23 tail:al=-0.36 tail:als=0.27 tail:am=0.21 tail:ame=0.78
tail:an=0.29 tail:ana=-0.22 tail:and=-0.26 tail:ank=0.45 tail:ano=0.21 tail:ans=0.27 tail:any=0.40
tail:api=0.31 tail:as=0.38 tail:asa=-0.33 tail:ase=0.27 tail:así=-0.31 tail:at=-0.36 tail:au=-0.26
tail:aut=0.22 tail:ava=-0.30 tail:ave=0.27 tail:ba=-0.30 tail:be=-0.39 tail:ben=-0.37 tail:bia=0.31
tail:ble=-0.64 tail:but=0.22 tail:ca=0.21 tail:cer=-0.34 tail:che=0.26 tail:cho=-0.21 tail:ci=-0.31
tail:com=0.26 tail:cos=0.22 tail:cs=0.38 tail:css=0.53 tail:cy=0.57 tail:da=0.27 tail:das=-1.04
tail:de=0.50 tail:dei=-0.26 tail:den=-0.35 tail:des=-0.26 tail:dle=0.33 tail:do=-0.35
tail:dos=-0.32 tail:du=0.23 tail:eau=-0.51 tail:eer=-0.27 tail:eht=-0.23 tail:ei=-0.44
tail:el=-0.42 tail:ema=0.29 tail:en=0.25 tail:end=0.56 tail:ene=-0.21 tail:ens=0.32 tail:enú=-0.22
tail:ern=0.24 tail:es=0.44 tail:ese=-0.37 tail:eso=-0.23 tail:est=-0.24 tail:eur=-0.33
tail:eut=-0.25 tail:exe=0.22 tail:ez=-0.45 tail:fe=0.26 tail:fox=-0.28 tail:gne=0.31 tail:gs=0.42
tail:gt=-0.25 tail:hat=-0.30 tail:hen=-0.42 tail:hes=0.38 tail:hl=-0.30 tail:ho=-0.62 tail:hon=0.33
tail:hub=0.22 tail:ia=-0.40 tail:ica=0.24 tail:ich=0.25 tail:ida=0.33 tail:ide=0.22 tail:ie=0.27
tail:ien=-0.33 tail:ieu=0.26 tail:ig=-0.27 tail:iki=0.22 tail:ild=-0.25 tail:ill=0.32 tail:ilo=0.24
tail:im=-0.45 tail:in=0.33 tail:ina=-0.56 tail:ing=0.25 tail:inx=0.40 tail:ir=-0.49 tail:ird=0.25
tail:is=-0.40 tail:ise=0.22 tail:ita=0.31 tail:ite=-0.38 tail:ió=-0.22 tail:je=-0.52 tail:jo=-0.24
tail:ki=0.22 tail:lar=-0.34 tail:las=0.23 tail:le=0.34 tail:len=0.24 tail:lgo=0.21 tail:ll=0.23
tail:lop=0.57 tail:los=0.28 tail:ma=0.64 tail:mal=-0.24 tail:mar=0.38 tail:mas=0.30 tail:mme=-0.37
tail:moi=0.36 tail:mos=0.27 tail:mpo=-0.37 tail:mps=-0.27 tail:na=-0.70 tail:nar=-0.46
tail:nch=-0.23 tail:nde=0.53 tail:ndo=-0.35 tail:ne=0.21 tail:nen=0.31 tail:ner=0.34 tail:ngo=-0.34
tail:nho=-0.31 tail:ni=0.24 tail:nie=0.23 tail:nk=0.42 tail:nn=-0.29 tail:nos=0.43 tail:npm=0.45
tail:ns=0.84 tail:nt=0.38 tail:nte=0.51 tail:nto=-0.21 tail:nts=0.29 tail:nur=0.28 tail:nx=0.40
tail:ny=0.40 tail:nú=-0.22 tail:ob=-0.31 tail:och=-0.23 tail:ocs=0.38 tail:ode=0.29 tail:oi=0.23
tail:oie=0.25 tail:oir=-0.24 tail:ois=-0.27 tail:olo=0.25 tail:om=0.38 tail:ome=-0.25 tail:ons=0.47
tail:op=0.57 tail:opf=-0.22 tail:ort=-0.33 tail:os=0.70 tail:ose=0.26 tail:ot=-0.32 tail:ou=-0.68
tail:oue=-0.33 tail:ox=-0.28 tail:par=0.35 tail:pf=-0.22 tail:pi=0.31 tail:pm=0.45 tail:pr=0.26
tail:ps=-0.27 tail:ql=0.46 tail:que=0.34 tail:qué=-0.40 tail:ra=-0.22 tail:ral=0.21 tail:rde=-0.38
tail:rei=-0.25 tail:res=0.46 tail:rge=0.22 tail:ria=-0.47 tail:rir=-0.30 tail:rn=0.24
tail:ron=-0.34 tail:rst=0.45 tail:rt=-0.46 tail:ría=-0.31 tail:sar=0.29 tail:se=0.37 tail:sem=0.32
tail:sim=-0.39 tail:sin=0.52 tail:sma=0.28 tail:so=-0.48 tail:sql=0.46 tail:ss=0.35 tail:ste=-0.35
tail:sé=0.24 tail:sí=-0.34 tail:tar=0.33 tail:tas=0.35 tail:tc=0.26 tail:te=0.22 tail:tel=-0.30
tail:ten=0.62 tail:tor=-0.24 tail:tra=-0.33 tail:tt=0.24 tail:tte=-0.22 tail:tze=0.24
tail:tão=-0.40 tail:ub=0.22 tail:ung=-0.25 tail:ure=0.25 tail:us=-0.23 tail:usa=0.23 tail:ut=0.23
tail:utc=0.26 tail:ué=-0.40 tail:van=0.23 tail:ven=0.33 tail:vo=0.29 tail:vor=0.32 tail:was=0.23
tail:wei=0.24 tail:wir=0.25 tail:xe=0.22 tail:xte=0.56 tail:ze=0.33 tail:zu=-0.27 tail:ça=-0.58
tail:ès=-0.22 tail:ées=-0.53 tail:ême=0.26 tail:ía=-0.64 tail:аем=0.36 tail:ает=-0.27 tail:ажи=0.24
tail:ай=0.44 tail:ак=-0.27 tail:ал=-0.46 tail:ало=-0.30 tail:ах=0.45 tail:бка=-0.22 tail:вай=0.21
tail:вил=-0.22 tail:все=-0.25 tail:гда=-0.34 tail:да=-0.25 tail:де=0.26 tail:ди=0.41 tail:дит=-0.27
tail:дой=0.27 tail:ду=-0.21 tail:ез=0.22 tail:ем=0.55 tail:ет=-0.60 tail:ех=0.24 tail:же=-0.41
tail:жи=0.24 tail:ие=0.28 tail:ики=0.26 tail:ил=-0.38 tail:им=0.21 tail:ины=0.44 tail:ит=-0.53
tail:ите=-0.27 tail:ить=-0.24 tail:ица=-0.21 tail:ицу=-0.21 tail:ию=-0.38 tail:ия=0.46
tail:йла=-0.31 tail:йся=0.32 tail:ка=-0.53 tail:кие=0.33 tail:кно=-0.32 tail:ко=0.31 tail:ков=0.27
tail:код=0.25 tail:ку=-0.57 tail:ле=-0.23 tail:ли=-0.27 tail:ло=-0.75 tail:ля=0.24 tail:маю=-0.24
tail:мы=0.41 tail:мя=-0.26 tail:нас=0.37 tail:не=-0.34 tail:нет=-0.21 tail:ни=-0.24 tail:ния=0.27
tail:но=-0.22 tail:ные=0.28 tail:ных=0.43 tail:ня=-0.34 tail:ого=0.22 tail:оды=0.25 tail:ои=-0.22
tail:ок=-0.36 tail:оси=0.30 tail:ось=-0.31 tail:ра=-0.21 tail:ри=0.24 tail:рой=-0.22 tail:ру=0.35
tail:рую=-0.24 tail:се=-0.25 tail:сех=0.29 tail:сла=0.31 tail:сь=-0.37 tail:тах=0.27 tail:те=0.21
tail:тим=-0.22 tail:тку=-0.22 tail:то=-0.66 tail:том=0.22 tail:тут=-0.28 tail:ты=0.48
tail:уже=-0.30 tail:ут=-0.23 tail:ца=-0.21 tail:цию=-0.26 tail:цу=-0.21 tail:чёт=-0.32
tail:шой=0.21 tail:щую=0.30 tail:ыми=0.24 tail:ых=0.56 tail:это=-0.31 tail:яй=0.38 tail:ях=0.24
word:0=-0.79 word:abrir=-0.24 word:actions=0.22 word:algo=0.21 word:als=0.27 word:alterar=0.23
word:an=0.28 word:any=0.40 word:api=0.31 word:assim=-0.39 word:así=-0.31 word:avant=0.26
word:backend=0.63 word:beiden=-0.25 word:bevor=0.22 word:bien=-0.33 word:bouton=-0.30
word:branch=-0.23 word:branches=0.34 word:breve=0.24 word:build=-0.21 word:c'est=-0.21
word:cache=-0.31 word:cada=0.68 word:cambia=0.31 word:ce=-0.21 word:changer=0.29 word:chaque=0.54
word:chose=0.26 word:chrome=-0.28 word:cite=0.25 word:classe=0.26 word:code=0.23 word:com=0.26
word:conjunto=0.24 word:constante=0.23 word:contexto=0.27 word:css=0.53 word:código=0.23
word:da=-0.40 word:das=-0.40 word:de=0.29 word:demande=0.27 word:deux=-0.26 word:develop=0.57
word:dich=0.25 word:do=0.23 word:docs=0.35 word:du=0.23 word:e=-0.22 word:ein=-0.47
word:entram=0.25 word:erst=0.36 word:es=-0.57 word:esquema=0.32 word:eu=-0.30 word:fais=0.22
word:fehlermeldungen=0.34 word:firefox=-0.28 word:fois=-0.21 word:fonction=0.25
word:funcionar=-0.21 word:gehören=0.31 word:github=0.22 word:gradle=0.33 word:habe=-0.29
word:hat=-0.30 word:hier=-0.27 word:homologação=0.25 word:ich=-0.61 word:il=-0.28 word:immer=0.22
word:in=0.36 word:j'ai=-0.42 word:je=-0.34 word:jeder=0.23 word:knopf=-0.22 word:können=-0.29
word:las=0.22 word:laufen=0.30 word:leer=-0.27 word:legacy=0.57 word:lieu=0.26 word:ligne=0.31
word:linha=0.27 word:lo=-0.23 word:los=0.28 word:lucide=0.27 word:lógica=0.29 word:machen=-0.25
word:marche=-0.24 word:maven=0.33 word:mein=0.21 word:menú=-0.22 word:mexe=0.22 word:mich=0.27
word:mismo=-0.21 word:mit=-0.25 word:mm=0.23 word:moi=0.36 word:mysql=0.31 word:même=0.26
word:n'utilise=0.29 word:nada=-0.25 word:nginx=0.40 word:nie=0.23 word:noch=-0.23
word:nouveau=-0.35 word:nouvelle=0.26 word:nur=0.28 word:números=0.21 word:o=-0.23 word:ob=-0.31
word:os=0.39 word:par=0.35 word:pasa=-0.33 word:passe=-0.31 word:pasta=0.21 word:peut=-0.25
word:plataforma=0.28 word:pnpm=0.45 word:postgres=0.31 word:pr=0.26 word:problema=-0.22
word:python=0.62 word:página=-0.38 word:quando=-0.25 word:reinstalar=-0.26 word:repositório=0.25
word:reviso=0.22 word:routes=0.40 word:schon=-0.28 word:sein=0.25 word:seite=-0.40 word:sem=0.47
word:sin=0.52 word:solo=0.25 word:somos=-0.24 word:support=-0.25 word:temps=-0.27 word:tengo=-0.34
word:test=0.23 word:texte=0.29 word:toda=0.29 word:todas=-0.36 word:ton=0.34 word:toutes=-0.31
word:uniquement=0.26 word:usa=0.27 word:use=0.21 word:utc=0.26 word:va=0.24 word:variable=-0.39
word:ver=-0.21 word:version=-0.25 word:wiki=0.22 word:will=0.32 word:wir=0.25 word:wird=0.25
word:zeig=0.21 word:zwei=0.24 word:à=-0.21 word:ändern=0.23 word:ça=-0.56 word:é=0.24
word:échoue=-0.33 word:öffentliche=0.22 word:большой=0.21 word:в=0.56 word:все=-0.25 word:всех=0.29
word:изменения=0.25 word:каждого=0.23 word:каждой=0.27 word:код=0.25 word:менять=0.23
word:написать=-0.23 word:нас=0.37 word:нет=-0.21 word:нужно=0.23 word:окно=-0.32 word:ошибка=-0.50
word:падают=-0.27 word:переводы=0.23 word:покажи=0.22 word:происходит=-0.27 word:с=-0.23
word:спроси=0.30 word:старую=-0.24 word:страницу=-0.21 word:то=0.21 word:тут=-0.28 word:уже=-0.30
word:файла=-0.31 word:чем=0.23 word:числа=0.31 word:этим=-0.22 word:это=-0.31 word:этой=-0.21
word:этом=0.30 word:あ=-0.24 word:い=0.24 word:か=-0.45 word:が=-1.04 word:こ=-0.25 word:し=-0.47
word:ず=-0.30 word:た=-0.82 word:ち=-0.27 word:っ=-0.34 word:て=0.22 word:で=-0.60 word:と=-0.86
word:に=0.56 word:の=-0.21 word:は=0.86 word:ま=-0.64 word:も=-0.37 word:ら=-0.47 word:る=0.34
word:れ=-0.28 word:を=-0.30 word:ア=-0.21 word:イ=0.29 word:ク=0.40 word:コ=0.22 word:ジ=0.23 word:タ=-0.34
word:ッ=-0.45 word:ド=-0.43 word:パ=-0.24 word:ペ=-0.39 word:ボ=-0.22 word:上=-0.72 word:不=0.88
word:么=-0.50 word:之=-0.40 word:了=-0.77 word:交=0.34 word:人=0.30 word:仓=0.28 word:付=0.25 word:们=0.51
word:件=-0.44 word:会=-0.43 word:传=-0.24 word:位=0.31 word:依=0.40 word:保=0.30 word:储=0.30 word:共=0.24
word:关=-0.23 word:其=-0.23 word:写=0.40 word:况=0.21 word:前=0.63 word:功=-0.23 word:务=0.29 word:单=0.39
word:句=0.39 word:只=0.40 word:叫=0.37 word:可=-0.30 word:号=0.40 word:合=0.32 word:四=0.31 word:回=-0.27
word:在=0.42 word:块=0.33 word:基=0.22 word:変=0.29 word:复=-0.31 word:多=-0.23 word:大=0.49 word:天=-0.29
word:失=-0.42 word:存=0.46 word:完=-0.53 word:定=0.30 word:实=-0.36 word:审=0.25 word:对=-0.51
word:导=-0.29 word:小=0.37 word:工=0.47 word:己=-0.29 word:已=-0.31 word:序=-0.32 word:库=0.32
word:应=-0.27 word:弄=-0.42 word:律=0.33 word:思=-0.23 word:急=-0.35 word:情=0.25 word:意=0.38 word:我=0.46
word:打=-0.26 word:把=-0.45 word:报=-0.27 word:持=0.38 word:推=0.30 word:支=0.38 word:改=0.58 word:放=0.30
word:数=0.38 word:整=-0.22 word:文=0.29 word:断=-0.28 word:新=-0.40 word:方=-0.21 word:日=-0.34
word:旧=-0.46 word:明=-0.30 word:書=0.46 word:本=-0.63 word:来=-0.26 word:析=-0.25 word:查=0.26
word:标=0.37 word:样=-0.38 word:根=-0.23 word:检=0.33 word:模=0.35 word:次=-0.26 word:止=0.36 word:毎=0.23
word:每=0.58 word:求=-0.22 word:没=-1.13 word:注=0.43 word:消=-0.37 word:測=0.24 word:理=0.21 word:用=0.63
word:由=0.43 word:登=-0.30 word:確=0.38 word:移=0.26 word:空=-0.26 word:端=0.48 word:第=-0.29 word:答=0.58
word:类=0.61 word:系=-0.25 word:组=0.26 word:经=-0.23 word:结=0.40 word:给=0.29 word:置=0.29 word:署=0.21
word:翻=0.27 word:聞=0.39 word:自=-0.51 word:行=0.26 word:补=-0.23 word:表=0.34 word:装=-0.23 word:要=0.91
word:解=-0.32 word:言=0.54 word:認=0.39 word:记=0.31 word:词=0.22 word:试=-0.26 word:该=-0.34 word:语=0.31
word:误=0.24 word:请=-0.25 word:败=-0.29 word:走=0.42 word:载=-0.24 word:边=-0.21 word:返=-0.31
word:还=-0.42 word:这=-0.57 word:退=-0.41 word:通=0.21 word:遍=0.29 word:都=0.94 word:配=-0.24 word:释=0.41
word:里=-0.47 word:量=0.31 word:金=0.35 word:開=-0.22 word:面=-0.38 word:页=-0.38 word:项=0.47
word:顺=-0.24 word:题=-0.21 word:额=0.23
"""
