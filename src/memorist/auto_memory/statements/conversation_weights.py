"""The weights of `conversation_score`, by `benchmarks/fit_conversation.py`. Pure."""

from __future__ import annotations

RULE_SCORE_WEIGHT = 0.93
THRESHOLD = 1.28
WEIGHTS = r"""
cue:negated_order=-0.25 cue:number=-0.57 cue:plural_process=-0.18 cue:screen=0.32 cue:short=0.61
end:ar=-0.39 end:ci=-0.26 end:cs=0.18 end:da=-0.38 end:de=0.31 end:er=0.31 end:et=0.21 end:io=0.28
end:nd=0.41 end:ne=0.22 end:no=0.27 end:ns=0.28 end:nx=0.26 end:op=0.46 end:or=-0.20 end:pm=0.34
end:ra=-0.21 end:rt=-0.29 end:se=0.31 end:st=0.35 end:tc=0.30 end:te=-0.31 end:to=0.38 end:ts=-0.49
end:vo=-0.28 end:ах=0.17 end:ем=0.24 end:ив=-0.20 end:ие=-0.17 end:ии=-0.51 end:ия=0.37
end:ка=-0.21 end:ло=-0.20 end:ны=0.23 end:ой=-0.20 end:ст=0.29 end:сь=-0.25 end:ся=-0.27
end:та=0.18 end:ть=0.20 end:いです=-0.31 end:ずです=-0.28 end:ないで=0.20 end:ました=-0.24 form:12~words=-0.19
form:2~words=-0.37 form:4~words=0.28 form:7~words=-0.76 form:quotation=-0.57 head:ab=-0.17
head:act=0.36 head:acti=0.24 head:adm=0.39 head:admi=0.39 head:al=-0.29 head:als=0.28
head:and=-0.18 head:ande=-0.18 head:anl=-0.18 head:anle=-0.18 head:antw=0.21 head:api=0.31
head:apr=0.19 head:apro=0.25 head:aqui=0.17 head:as=0.19 head:ass=-0.18 head:assi=-0.18
head:así=-0.19 head:att=0.26 head:atu=0.24 head:atua=0.24 head:auss=0.18 head:avi=-0.29
head:avis=-0.29 head:bac=0.55 head:back=0.55 head:bas=0.19 head:base=0.19 head:beh=-0.21
head:beid=-0.19 head:bie=-0.18 head:bien=-0.18 head:bis=-0.20 head:bish=-0.20 head:bit=0.26
head:bitt=0.26 head:bou=-0.20 head:bout=-0.20 head:bran=0.17 head:cac=-0.17 head:cach=-0.17
head:cad=0.36 head:cada=0.36 head:cap=-0.42 head:capt=-0.19 head:capí=-0.23 head:ce=-0.24
head:cha=0.23 head:cham=0.21 head:che=-0.35 head:cho=0.20 head:chos=0.20 head:chr=-0.27
head:chro=-0.27 head:ci=0.19 head:cla=0.51 head:clas=0.34 head:cod=0.21 head:code=0.21
head:com=0.24 head:come=0.31 head:con=-0.33 head:cont=-0.21 head:cre=-0.20 head:css=0.50
head:cui=0.28 head:cuid=0.28 head:d'a=-0.20 head:d'i=-0.19 head:da=-0.21 head:dan=-0.18
head:das=-0.37 head:de=0.27 head:dec=0.21 head:deci=0.21 head:dema=0.23 head:den=-0.28
head:depe=0.25 head:depo=-0.20 head:der=-0.32 head:des=-0.29 head:deu=-0.21 head:deux=-0.27
head:dev=0.37 head:deve=0.39 head:dis=-0.17 head:do=0.21 head:doc=0.81 head:docs=0.54
head:docu=0.20 head:dok=0.23 head:doku=0.23 head:du=0.26 head:déj=-0.22 head:déjà=-0.22
head:edi=-0.18 head:edit=-0.18 head:eine=0.21 head:einh=0.21 head:emo=0.21 head:emoj=0.21
head:emp=0.27 head:end=0.24 head:eng=0.27 head:engl=0.27 head:ent=-0.19 head:err=-0.21
head:erw=-0.18 head:es=-0.46 head:espa=0.30 head:espe=-0.22 head:est=-0.33 head:esto=-0.27
head:etw=0.21 head:etwa=0.21 head:eu=-0.27 head:exi=0.21 head:expe=-0.30 head:expl=0.29
head:fach=0.26 head:fais=0.23 head:fal=-0.48 head:fall=-0.25 head:fals=-0.17 head:feh=0.19
head:fehl=0.19 head:fen=-0.21 head:fil=-0.27 head:filt=-0.26 head:fir=-0.27 head:fire=-0.27
head:fon=0.19 head:for=-0.43 head:fro=0.26 head:fron=0.26 head:fun=0.18 head:funk=0.25
head:fus=-0.19 head:fusi=-0.19 head:gar=0.19 head:gard=0.19 head:geh=0.20 head:gehö=0.31
head:gen=0.17 head:gil=0.20 head:gilt=0.20 head:git=0.24 head:gith=0.24 head:gra=0.41
head:grad=0.34 head:gran=0.18 head:gro=0.34 head:gros=0.18 head:hab=-0.33 head:habe=-0.27
head:hat=-0.27 head:hie=-0.22 head:hier=-0.22 head:ich=-0.51 head:ins=-0.51 head:inst=-0.56
head:iss=-0.21 head:isso=-0.21 head:j'a=-0.34 head:j'ai=-0.23 head:je=-0.35 head:kei=0.39
head:kein=0.39 head:kla=0.30 head:kom=0.20 head:komm=0.20 head:kop=-0.21 head:kön=-0.18
head:könn=-0.18 head:l'a=-0.35 head:l'ac=0.23 head:l'an=-0.34 head:l'au=-0.18 head:l'e=-0.33
head:l'ex=-0.19 head:l'i=-0.21 head:la=-0.21 head:leg=0.45 head:lega=0.51 head:lie=0.17
head:lieb=0.20 head:lig=0.27 head:lign=0.27 head:lin=0.25 head:lint=0.20 head:lis=-0.26
head:list=-0.22 head:lla=0.34 head:llam=0.22 head:llev=0.26 head:luc=0.38 head:luci=0.38
head:mai=0.21 head:mal=-0.26 head:man=-0.29 head:mav=0.34 head:mave=0.34 head:me=-0.26
head:mel=-0.19 head:mer=-0.18 head:merc=-0.17 head:mes=0.23 head:mesm=0.21 head:mex=0.20
head:mexe=0.20 head:mig=0.17 head:migr=0.17 head:mis=0.17 head:mod=0.25 head:modi=0.32
head:moi=0.33 head:mys=0.23 head:mysq=0.23 head:máq=-0.19 head:máqu=-0.19 head:mêm=0.25
head:même=0.25 head:nac=0.24 head:nach=0.24 head:ne=0.18 head:neg=0.17 head:nen=0.17 head:nenh=0.17
head:neue=-0.17 head:ngi=0.41 head:ngin=0.41 head:nie=0.26 head:nin=0.33 head:ning=0.33
head:noc=-0.20 head:noch=-0.20 head:nom=0.26 head:nomb=0.24 head:nov=-0.20 head:nue=0.20
head:nun=0.21 head:nunc=0.21 head:nur=0.23 head:núm=0.42 head:núme=0.42 head:ob=-0.19 head:ohn=0.19
head:ohne=0.19 head:on=0.24 head:ont=-0.25 head:os=0.35 head:otr=-0.27 head:pag=-0.18 head:par=0.20
head:pars=-0.17 head:pas=-0.20 head:pass=-0.34 head:perg=0.29 head:pers=-0.22 head:pes=-0.18
head:peu=-0.18 head:pla=0.83 head:plan=0.26 head:plat=0.57 head:plu=0.24 head:pnp=0.44
head:pnpm=0.44 head:port=0.22 head:pos=0.23 head:post=0.23 head:pr=0.26 head:pre=0.29
head:preg=0.18 head:prim=-0.17 head:prin=0.28 head:pro=0.28 head:prob=-0.34 head:prod=0.84
head:proy=-0.19 head:pré=0.17 head:pub=0.31 head:publ=0.31 head:pyt=0.98 head:pyte=0.24
head:pyth=0.74 head:pág=-0.26 head:pági=-0.26 head:púb=0.19 head:públ=0.19 head:quan=-0.27
head:que=-0.27 head:qué=-0.22 head:rech=-0.20 head:reco=0.29 head:refa=0.17 head:reg=-0.19
head:rel=0.25 head:repo=0.41 head:repr=-0.26 head:res=0.45 head:reso=-0.18 head:resp=0.63
head:ret=-0.25 head:rie=-0.21 head:rien=-0.21 head:rou=0.31 head:rout=0.31 head:réi=-0.31
head:réin=-0.31 head:scho=-0.31 head:seg=-0.18 head:sein=0.23 head:seit=-0.26 head:sem=0.35
head:seu=0.34 head:seul=0.34 head:si=-0.21 head:sig=-0.49 head:sign=-0.36 head:sin=0.23
head:sob=-0.28 head:som=-0.18 head:somo=-0.28 head:spr=0.28 head:sql=0.29 head:sta=0.33
head:stat=0.17 head:stru=0.21 head:subi=-0.22 head:sup=0.25 head:supo=0.23 head:tabl=-0.23
head:tel=-0.20 head:ten=-0.47 head:tes=-0.23 head:test=-0.23 head:tic=0.25 head:tick=0.25
head:toc=0.20 head:toca=0.20 head:tou=0.28 head:touc=0.24 head:tra=0.29 head:trad=0.24
head:téc=0.17 head:técn=0.17 head:un=-0.21 head:uni=0.43 head:uniq=0.19 head:unit=0.24
head:uns=0.24 head:utc=0.33 head:var=-0.18 head:vari=-0.18 head:vau=0.20 head:vaut=0.20
head:ver=-0.27 head:vers=-0.21 head:vie=-0.29 head:vien=-0.25 head:von=0.28 head:vor=0.30
head:war=-0.25 head:wei=-0.23 head:wik=0.22 head:wiki=0.22 head:wir=0.26 head:wur=-0.21
head:zei=0.24 head:zeig=0.17 head:zur=-0.24 head:zurü=-0.29 head:änd=0.36 head:ände=0.36
head:ça=-0.42 head:éch=-0.17 head:êtr=0.17 head:être=0.17 head:öffe=0.20 head:бол=0.32
head:боль=0.32 head:бы=-0.20 head:вер=-0.36 head:верн=-0.19 head:верс=-0.23 head:воз=-0.35
head:все=0.26 head:всех=0.31 head:всё=-0.21 head:вто=-0.21 head:втор=-0.21 head:вхо=-0.21
head:вход=-0.21 head:гла=-0.22 head:глав=-0.22 head:док=0.33 head:доку=0.18 head:дол=-0.23
head:долж=-0.23 head:зав=0.20 head:заг=-0.24 head:загр=-0.17 head:зад=0.24 head:зада=0.24
head:запу=-0.21 head:изм=0.22 head:изме=0.22 head:каж=0.22 head:кажд=0.29 head:кар=-0.18
head:карт=-0.18 head:кла=0.38 head:кно=-0.20 head:кноп=-0.20 head:код=0.29 head:ком=0.23
head:мал=-0.21 head:меня=0.17 head:мож=-0.20 head:на=0.26 head:наз=0.20 head:назы=0.20
head:нас=0.24 head:неп=-0.20 head:непр=-0.20 head:ник=0.37 head:нико=0.19 head:нич=-0.26
head:ниче=-0.26 head:нов=-0.17 head:нову=-0.22 head:нор=-0.17 head:норм=-0.17 head:нуж=0.26
head:нужн=0.26 head:опе=-0.30 head:опеч=-0.30 head:отв=0.66 head:отве=0.66 head:отд=0.33
head:отде=0.33 head:оши=-0.29 head:ошиб=-0.29 head:пад=-0.32 head:пада=-0.20 head:пар=-0.31
head:пла=0.28 head:пол=-0.41 head:пом=-0.24 head:поп=-0.30 head:попр=-0.20 head:пос=-0.43
head:посл=-0.18 head:посм=-0.17 head:при=-0.20 head:про=-0.25 head:пров=0.22 head:прое=0.32
head:пуб=0.31 head:публ=0.31 head:рас=-0.17 head:реп=0.20 head:репо=0.20 head:сде=-0.25
head:сдел=-0.25 head:ско=0.20 head:сле=0.21 head:след=0.21 head:спр=0.24 head:спро=0.40
head:ста=-0.24 head:стар=-0.40 head:стра=-0.34 head:тут=-0.36 head:уже=-0.18 head:утр=-0.20
head:фун=0.23 head:функ=0.23 head:чер=0.18 head:чере=0.18 head:чет=0.33 head:чис=0.29
head:числ=0.29 head:эти=-0.30 head:этим=-0.30 head:это=-0.27 head:этой=-0.19 head:этом=0.21
pair:0_$=-0.54 pair:0_resultados=-0.22 pair:^_as=0.23 pair:^_c'est=-0.20 pair:^_ce=-0.27
pair:^_ci=0.36 pair:^_das=-0.24 pair:^_de=-0.44 pair:^_es=-0.20 pair:^_hier=-0.18 pair:^_ich=-0.17
pair:^_in=-0.26 pair:^_j'ai=-0.23 pair:^_la=0.43 pair:^_las=0.26 pair:^_nada=0.25 pair:^_no=-0.27
pair:^_não=0.27 pair:^_on=0.32 pair:^_para=0.20 pair:^_pode=0.20 pair:^_sql=0.18 pair:^_só=0.23
pair:^_без=0.27 pair:^_в=-0.25 pair:^_на=-0.24 pair:^_написать=-0.21 pair:^_по=-0.19 pair:^_ト=-0.20
pair:^_リ=0.17 pair:^_ロ=-0.23 pair:^_公=0.25 pair:^_内=-0.17 pair:^_再=0.21 pair:^_分=0.21
pair:^_可=-0.21 pair:^_大=0.47 pair:^_就=-0.19 pair:^_所=0.18 pair:^_数=0.24 pair:^_测=0.23
pair:^_用=-0.21 pair:^_这=0.31 pair:a_main=0.25 pair:actions_$=0.19 pair:antes_$=-0.18
pair:backend_$=0.41 pair:base_de=0.19 pair:bei_uns=0.29 pair:branche_$=-0.17 pair:classe_$=0.23
pair:commits_$=-0.64 pair:con_los=-0.20 pair:da_sind=-0.20 pair:dans_la=-0.18 pair:das_ist=-0.24
pair:de_esquema=0.17 pair:de_la=-0.20 pair:de_plataforma=0.31 pair:de_vez=-0.17 pair:develop_$=0.46
pair:docs_$=0.18 pair:docstring_$=0.25 pair:el_equipo=0.18 pair:github_actions=0.24
pair:grande_$=0.18 pair:in_allen=0.30 pair:ist_$=-0.27 pair:la_base=0.19 pair:le_bouton=-0.20
pair:lucide_$=0.34 pair:maven_$=0.32 pair:nada_$=-0.41 pair:nginx_$=0.26 pair:nicht_mehr=0.17
pair:no_se=0.21 pair:nur_mit=-0.20 pair:pnpm_$=0.34 pair:por_pull=0.27 pair:projet_$=0.20
pair:projeto_$=0.23 pair:proyecto_$=0.17 pair:python_$=0.68 pair:que_antes=-0.20
pair:que_pasar=0.17 pair:request_$=0.25 pair:routes_$=0.23 pair:se_toca=0.20 pair:stehen_$=0.18
pair:sur_la=0.25 pair:toca_$=0.20 pair:técnicos_$=0.17 pair:une_pull=-0.18 pair:unittest_$=0.24
pair:utc_$=0.30 pair:vale_para=0.20 pair:vez_de=0.29 pair:y_no=-0.17 pair:ya_no=0.29
pair:никогда_не=0.19 pair:ничего_не=-0.18 pair:нормально_$=-0.17 pair:реквест_$=0.29
pair:тут_не=-0.23 pair:у_меня=-0.40 pair:у_нас=0.33 pair:あ_り=-0.20 pair:い_$=0.35 pair:い_う=0.29
pair:い_け=-0.17 pair:い_て=0.27 pair:い_と=-0.21 pair:う_い=0.29 pair:え_る=0.24 pair:が_通=-0.19
pair:き_な=0.17 pair:き_ま=-0.18 pair:き_る=-0.20 pair:く_前=0.18 pair:け_$=0.22 pair:け_て=0.17
pair:け_ど=-0.19 pair:こ_う=0.29 pair:こ_の=-0.24 pair:さ_な=0.32 pair:し_た=-0.44 pair:し_に=0.23
pair:し_ま=-0.21 pair:す_$=-0.52 pair:す_る=0.56 pair:ず_で=-0.28 pair:た_$=-0.40 pair:だ_と=-0.20
pair:っ_た=-0.18 pair:っ_て=-0.29 pair:て_い=0.22 pair:で_$=0.24 pair:で_き=-0.22 pair:で_す=-0.25
pair:で_プ=-0.24 pair:で_表=0.31 pair:と_思=-0.21 pair:な_し=0.26 pair:に_置=0.20 pair:の_で=-0.23
pair:は_こ=-0.22 pair:は_ず=-0.28 pair:ま_し=-0.33 pair:ま_す=-0.29 pair:よ_り=0.37 pair:り_ま=-0.21
pair:る_は=-0.27 pair:を_入=0.18 pair:を_変=0.18 pair:を_押=-0.19 pair:を_通=0.21 pair:ジ_を=-0.19
pair:ス_は=0.18 pair:タ_ン=-0.21 pair:ッ_プ=-0.30 pair:ト_の=0.45 pair:ト_は=0.18 pair:ト_を=-0.34
pair:ト_ッ=-0.20 pair:ド_が=-0.17 pair:ペ_ー=-0.20 pair:ボ_タ=-0.21 pair:レ_ー=0.20 pair:ロ_グ=-0.20
pair:ロ_ー=-0.19 pair:ー_ジ=-0.18 pair:ー_ス=0.24 pair:ー_ド=-0.25 pair:一_下=-0.33 pair:一_个=-0.26
pair:上_传=-0.24 pair:不_对=-0.38 pair:不_清=0.17 pair:不_能=0.30 pair:不_要=0.68 pair:两_个=0.22
pair:个_分=-0.20 pair:之_后=-0.23 pair:了_$=-0.43 pair:保_持=0.29 pair:修_改=0.19 pair:値_は=0.30
pair:入_れ=0.31 pair:内_容=-0.18 pair:再_写=0.28 pair:写_注=0.34 pair:前_に=0.33 pair:加_载=-0.20 pair:动_$=0.17
pair:化_$=-0.34 pair:单_独=0.17 pair:古_い=-0.18 pair:图_$=-0.23 pair:块_$=0.31 pair:大_き=0.26
pair:实_是=-0.26 pair:実_行=-0.17 pair:导_出=-0.25 pair:小_数=0.24 pair:小_的=0.42 pair:小_项=-0.30
pair:就_行=0.27 pair:应_该=-0.21 pair:情_况=0.20 pair:我_们=0.57 pair:所_有=0.21 pair:报_错=-0.17
pair:按_钮=-0.17 pair:掉_$=0.32 pair:提_交=0.24 pair:改_$=0.21 pair:放_在=0.25 pair:数_値=0.30 pair:数_字=0.26
pair:文_件=-0.39 pair:文_档=0.19 pair:日_志=0.17 pair:旧_版=-0.25 pair:时_候=-0.18 pair:有_点=-0.20
pair:没_有=-0.37 pair:注_释=0.36 pair:版_本=-0.34 pair:用_英=0.17 pair:登_录=-0.33 pair:的_$=0.47
pair:的_小=-0.30 pair:的_提=0.19 pair:的_时=-0.18 pair:的_是=-0.17 pair:直_接=0.20 pair:確_認=0.17
pair:私_の=0.18 pair:管_理=0.35 pair:结_构=0.30 pair:统_一=0.23 pair:置_く=0.18 pair:自_己=-0.22 pair:英_文=0.17
pair:行_$=0.31 pair:要_用=0.20 pair:設_定=-0.23 pair:認_し=0.17 pair:试_$=-0.20 pair:试_试=-0.17
pair:通_す=0.21 pair:里_不=0.30 pair:重_要=0.19 pair:问_题=-0.38 pair:项_目=0.28 start:ai=-0.23 start:as=0.33
start:ce=-0.38 start:ci=0.24 start:da=0.48 start:ei=-0.24 start:em=0.21 start:en=0.55
start:er=-0.27 start:es=0.33 start:go=-0.26 start:he=0.55 start:ia=-0.20 start:ie=0.33
start:is=0.18 start:la=0.43 start:le=-0.21 start:me=0.40 start:no=-0.27 start:on=0.21 start:os=0.26
start:ql=0.18 start:ra=0.37 start:st=-0.31 start:sí=-0.18 start:só=0.23 start:te=0.43 start:ão=0.22
start:ай=-0.31 start:аю=-0.30 start:в=-0.25 start:да=-0.33 start:ез=0.27 start:ие=0.27
start:ии=0.35 start:ка=-0.58 start:ки=0.44 start:ла=0.17 start:на=-0.17 start:но=-0.26
start:ня=0.31 start:ок=-0.29 start:по=-0.19 start:ую=0.31 start:ые=0.55 start:ト=-0.20 start:リ=0.17
start:ロ=-0.23 start:公=0.25 start:内=-0.17 start:再=0.21 start:分=0.21 start:可=-0.21 start:大=0.47
start:就=-0.19 start:所=0.18 start:数=0.24 start:测=0.23 start:用=-0.21 start:这=0.31 tail:'ai=-0.28
tail:ab=-0.18 tail:aba=-0.23 tail:acy=0.55 tail:ade=0.20 tail:ado=-0.20 tail:age=-0.31
tail:aie=-0.22 tail:ait=-0.22 tail:al=-0.22 tail:all=0.21 tail:als=0.28 tail:am=0.38 tail:ame=0.57
tail:an=0.26 tail:ank=0.43 tail:ann=-0.20 tail:ans=0.27 tail:api=0.31 tail:ar=0.37 tail:ara=0.17
tail:ase=0.29 tail:así=-0.19 tail:at=-0.28 tail:att=0.17 tail:au=-0.36 tail:aut=0.27 tail:ava=-0.23
tail:ave=0.26 tail:ba=-0.34 tail:bir=-0.18 tail:ble=-0.23 tail:cam=0.17 tail:car=0.17 tail:ce=-0.27
tail:che=0.37 tail:cho=-0.22 tail:ci=-0.18 tail:con=0.17 tail:cos=0.23 tail:cs=0.32 tail:css=0.50
tail:cy=0.55 tail:das=-0.56 tail:de=0.33 tail:dem=-0.17 tail:den=-0.40 tail:des=-0.27 tail:dle=0.34
tail:do=-0.61 tail:du=0.26 tail:eau=-0.34 tail:ei=-0.21 tail:ein=0.20 tail:el=-0.33 tail:en=0.35
tail:end=0.49 tail:er=-0.23 tail:ern=0.22 tail:ert=-0.20 tail:es=0.63 tail:est=-0.17 tail:eto=0.17
tail:eu=-0.23 tail:eur=-0.30 tail:eux=-0.19 tail:exe=0.20 tail:ez=-0.19 tail:fox=-0.27
tail:für=-0.20 tail:ge=-0.39 tail:gen=0.36 tail:ger=-0.22 tail:ges=0.18 tail:gne=0.25 tail:gs=0.38
tail:gt=-0.25 tail:he=0.37 tail:her=-0.27 tail:hes=0.40 tail:hl=-0.19 tail:hne=0.19 tail:ho=-0.42
tail:hon=0.43 tail:hub=0.24 tail:ia=-0.38 tail:iar=-0.17 tail:ide=0.35 tail:ie=0.50 tail:ien=-0.32
tail:iki=0.22 tail:ild=-0.17 tail:ilt=0.20 tail:im=-0.35 tail:ime=0.17 tail:in=0.38 tail:ina=-0.44
tail:ine=0.17 tail:ing=0.34 tail:inx=0.41 tail:ion=-0.31 tail:ios=0.29 tail:ipo=0.19 tail:ir=-0.33
tail:is=-0.48 tail:isa=0.19 tail:ise=0.18 tail:it=-0.20 tail:ite=-0.54 tail:its=-0.18
tail:ión=-0.24 tail:je=-0.31 tail:jet=0.22 tail:ji=0.17 tail:jo=-0.25 tail:jà=-0.22 tail:ki=0.22
tail:la=-0.23 tail:lan=0.26 tail:las=0.27 tail:ld=-0.33 tail:len=0.32 tail:lo=-0.17 tail:lop=0.52
tail:ls=0.27 tail:ma=0.73 tail:mar=0.28 tail:me=0.19 tail:mme=-0.23 tail:moi=0.33 tail:mos=0.30
tail:na=-0.33 tail:nal=-0.17 tail:nar=-0.24 tail:nas=0.22 tail:nd=0.17 tail:nde=0.40 tail:ndo=-0.32
tail:ne=0.29 tail:ner=0.50 tail:nie=0.26 tail:nk=0.37 tail:nn=-0.31 tail:nos=0.23 tail:npm=0.44
tail:ns=0.72 tail:nt=0.37 tail:nte=0.36 tail:nto=-0.26 tail:nur=0.23 tail:nx=0.41 tail:ob=-0.19
tail:och=-0.20 tail:ocs=0.32 tail:oie=0.58 tail:ois=-0.32 tail:oji=0.17 tail:oll=-0.17
tail:ome=-0.28 tail:on=-0.34 tail:ons=0.43 tail:ont=0.26 tail:op=0.50 tail:or=-0.35 tail:ort=-0.25
tail:os=0.67 tail:ose=0.20 tail:ot=-0.19 tail:ou=-0.37 tail:ox=-0.27 tail:par=0.18 tail:pe=0.21
tail:pi=0.31 tail:pm=0.44 tail:pr=0.26 tail:ql=0.53 tail:qué=-0.33 tail:ras=-0.19 tail:rci=-0.17
tail:rde=-0.35 tail:ren=0.27 tail:res=0.64 tail:ria=-0.35 tail:rma=0.31 tail:rn=0.22 tail:ron=-0.29
tail:ros=0.18 tail:rt=-0.50 tail:rto=0.18 tail:ría=-0.17 tail:sam=-0.17 tail:sar=0.28 tail:se=0.44
tail:sem=0.28 tail:ses=0.43 tail:si=-0.22 tail:sim=-0.18 tail:sin=0.39 tail:sma=0.33 tail:so=-0.46
tail:sql=0.53 tail:ss=0.27 tail:sst=0.21 tail:ste=-0.18 tail:sí=-0.25 tail:tar=0.38 tail:tas=0.27
tail:tc=0.33 tail:te=0.20 tail:tei=-0.22 tail:ten=0.44 tail:tes=0.19 tail:tet=-0.20 tail:ton=-0.24
tail:tor=-0.18 tail:tra=-0.21 tail:tão=-0.43 tail:té=-0.33 tail:ual=0.29 tail:ub=0.24 tail:ui=-0.21
tail:ulo=-0.25 tail:um=-0.20 tail:ung=-0.31 tail:ura=0.22 tail:utc=0.33 tail:ux=-0.19 tail:ué=-0.33
tail:va=-0.21 tail:van=0.23 tail:ven=0.34 tail:vor=0.30 tail:was=0.19 tail:wei=0.17 tail:xe=0.20
tail:ça=-0.33 tail:ère=0.21 tail:ès=-0.31 tail:éjà=-0.22 tail:és=0.19 tail:ême=0.25 tail:ía=-0.34
tail:ón=-0.26 tail:ôt=0.20 tail:ür=-0.20 tail:аем=0.20 tail:ает=-0.37 tail:ай=-0.29 tail:ак=-0.22
tail:ал=-0.41 tail:ало=-0.29 tail:ата=-0.22 tail:ах=0.18 tail:аю=-0.19 tail:вки=-0.17
tail:всё=-0.21 tail:гда=-0.20 tail:го=-0.25 tail:де=0.17 tail:ди=0.51 tail:ду=-0.17 tail:его=-0.27
tail:ез=0.29 tail:ей=-0.18 tail:ем=0.34 tail:ен=-0.28 tail:ет=-0.54 tail:ех=0.31 tail:же=-0.18
tail:ив=-0.20 tail:ил=-0.24 tail:им=0.34 tail:инг=0.29 tail:ины=0.36 tail:ит=-0.25 tail:ите=-0.18
tail:ить=-0.17 tail:ица=-0.17 tail:ицу=-0.24 tail:ию=-0.39 tail:ия=0.47 tail:йлы=0.18
tail:йте=-0.19 tail:ка=-0.48 tail:кие=0.26 tail:ко=0.36 tail:ку=-0.52 tail:ла=0.45 tail:ле=-0.21
tail:ли=-0.29 tail:ло=-0.67 tail:лы=0.18 tail:мал=-0.22 tail:маю=-0.34 tail:мы=0.43 tail:мя=-0.34
tail:нас=0.33 tail:ная=-0.23 tail:нг=0.29 tail:ния=0.17 tail:нки=0.22 tail:ны=0.29 tail:ные=0.42
tail:ня=-0.25 tail:оже=-0.23 tail:ок=-0.41 tail:ом=0.29 tail:оси=0.32 tail:ось=-0.30 tail:пку=-0.23
tail:ра=-0.24 tail:рез=0.18 tail:ри=0.22 tail:рой=-0.21 tail:ру=0.47 tail:рую=-0.23 tail:рю=-0.17
tail:сех=0.31 tail:си=0.32 tail:сла=0.29 tail:ст=0.18 tail:сь=-0.39 tail:сё=-0.21 tail:тах=0.31
tail:тку=-0.17 tail:то=-0.55 tail:том=0.28 tail:трю=-0.17 tail:тут=-0.36 tail:ты=0.38
tail:уже=-0.18 tail:ут=-0.28 tail:ую=0.25 tail:ход=-0.21 tail:ца=-0.17 tail:цию=-0.26 tail:ция=0.18
tail:цу=-0.24 tail:что=-0.23 tail:шой=0.24 tail:ые=0.65 tail:ыми=0.20 tail:это=-0.20 tail:яй=0.22
word:0=-0.70 word:a=0.17 word:ab=-0.17 word:actions=0.24 word:admins=0.23 word:al=-0.29
word:allen=0.30 word:alles=-0.18 word:als=0.28 word:api=0.31 word:aqui=0.17 word:as=0.19
word:assim=-0.18 word:así=-0.19 word:backend=0.55 word:base=0.19 word:bei=0.19 word:beiden=-0.19
word:bisher=-0.20 word:bitte=0.26 word:bouton=-0.20 word:branches=0.36 word:cada=0.36
word:capítulo=-0.23 word:ce=-0.24 word:chose=0.20 word:chrome=-0.27 word:ci=0.19 word:classe=0.23
word:commits=-0.19 word:con=0.17 word:constante=0.24 word:consulta=-0.19 word:css=0.50
word:da=-0.21 word:das=-0.38 word:datei=-0.22 word:dateien=0.20 word:de=0.27 word:decimal=0.17
word:demande=0.24 word:den=-0.34 word:depois=-0.20 word:der=-0.35 word:des=-0.21 word:develop=0.52
word:do=0.21 word:docs=0.29 word:docstring=0.25 word:du=0.26 word:déjà=-0.22 word:e=-0.28
word:editor=-0.18 word:ein=-0.46 word:erst=0.23 word:es=-0.46 word:esquema=0.17 word:etwas=0.21
word:eu=-0.27 word:fais=0.23 word:ficam=0.17 word:fichier=-0.20 word:firefox=-0.27 word:front=0.19
word:gehören=0.28 word:gilt=0.20 word:github=0.24 word:gradle=0.34 word:grande=0.18 word:gros=0.18
word:habe=-0.18 word:hier=-0.22 word:ich=-0.51 word:isso=-0.21 word:j'ai=-0.23 word:je=-0.35
word:kein=0.36 word:l'autre=-0.18 word:la=-0.21 word:las=0.28 word:legacy=0.55 word:les=0.17
word:lieber=0.20 word:ligne=0.25 word:lint=0.20 word:lucide=0.38 word:maven=0.34 word:me=-0.26
word:merci=-0.17 word:mesma=0.17 word:mexe=0.20 word:moi=0.33 word:mysql=0.23 word:máquina=-0.19
word:même=0.25 word:ne=0.18 word:nginx=0.41 word:nie=0.26 word:noch=-0.20 word:nombres=0.19
word:nunca=0.21 word:nur=0.23 word:número=0.18 word:números=0.24 word:o=-0.58 word:ob=-0.19
word:ohne=0.19 word:on=0.24 word:ont=-0.21 word:ordner=0.21 word:os=0.35 word:par=0.18
word:parser=-0.17 word:pasar=0.17 word:passe=-0.22 word:plan=0.26 word:plataforma=0.31
word:pnpm=0.44 word:postgres=0.23 word:pr=0.26 word:problema=-0.24 word:projekt=-0.18
word:projet=0.22 word:projeto=0.17 word:publicamos=0.18 word:pytest=0.24 word:python=0.74
word:página=-0.26 word:qué=-0.22 word:rien=-0.21 word:routes=0.38 word:schon=-0.31 word:sein=0.23
word:seite=-0.22 word:sem=0.40 word:si=-0.21 word:signale=-0.28 word:sin=0.39 word:somos=-0.28
word:sql=0.29 word:statt=0.17 word:supprimer=-0.21 word:toca=0.20 word:técnicos=0.17 word:un=-0.21
word:uniquement=0.19 word:unittest=0.24 word:utc=0.33 word:variable=-0.26 word:vaut=0.20
word:version=-0.17 word:vor=0.30 word:wiki=0.22 word:y=-0.17 word:zwei=0.17 word:à=0.46
word:änderungen=0.21 word:ça=-0.42 word:é=0.27 word:être=0.17 word:öffentliche=0.20
word:überall=0.21 word:а=-0.23 word:больше=0.18 word:большой=0.24 word:бы=-0.20 word:в=0.17
word:всех=0.31 word:всё=-0.21 word:второй=-0.21 word:вход=-0.21 word:документация=0.21 word:и=-0.31
word:на=0.26 word:написать=-0.21 word:нас=0.33 word:никогда=0.19 word:ничего=-0.26 word:новую=-0.22
word:нормально=-0.17 word:нужно=0.19 word:посмотрю=-0.17 word:с=-0.18 word:спроси=0.32
word:старую=-0.23 word:страницу=-0.24 word:тут=-0.36 word:уже=-0.18 word:файлы=0.18 word:через=0.18
word:числа=0.29 word:что=-0.23 word:это=-0.20 word:этой=-0.19 word:этом=0.21 word:う=0.21
word:が=-1.16 word:き=-0.18 word:こ=-0.29 word:し=-0.66 word:ず=-0.20 word:そ=-0.29 word:た=-0.70
word:っ=-0.51 word:で=-0.35 word:と=-0.88 word:な=0.23 word:に=0.30 word:は=0.88 word:ま=-0.59
word:み=-0.24 word:ら=-0.43 word:り=0.20 word:る=0.28 word:れ=-0.34 word:わ=-0.22 word:イ=0.26 word:ェ=0.17
word:ク=0.48 word:ケ=0.17 word:ス=0.23 word:タ=-0.26 word:ッ=-0.30 word:ド=-0.45 word:パ=-0.18
word:ペ=-0.20 word:ボ=-0.21 word:リ=0.32 word:レ=0.20 word:ロ=-0.21 word:ー=-0.17 word:上=-0.73
word:下=-0.17 word:不=0.78 word:为=-0.33 word:么=-0.35 word:了=-0.63 word:交=0.24 word:人=0.29
word:今=-0.18 word:介=-0.17 word:仓=0.25 word:以=-0.17 word:们=0.49 word:件=-0.40 word:会=-0.47
word:传=-0.24 word:依=0.28 word:保=0.27 word:候=-0.18 word:値=0.22 word:做=-0.21 word:先=-0.30 word:公=0.25
word:内=-0.18 word:写=0.44 word:况=0.20 word:出=-0.44 word:列=-0.26 word:前=0.55 word:加=-0.31 word:务=0.26
word:动=0.27 word:化=-0.34 word:单=0.30 word:古=-0.18 word:只=0.24 word:叫=0.40 word:可=-0.35 word:右=-0.23
word:号=0.23 word:同=0.20 word:周=0.27 word:命=0.18 word:四=0.51 word:回=-0.31 word:图=-0.20 word:在=0.25
word:块=0.31 word:基=0.17 word:変=0.25 word:复=-0.21 word:多=-0.31 word:大=0.63 word:天=-0.18 word:太=-0.19
word:失=-0.23 word:存=0.26 word:完=-0.51 word:定=0.37 word:实=-0.35 word:実=-0.17 word:容=-0.21
word:对=-0.42 word:导=-0.27 word:小=0.24 word:工=0.58 word:己=-0.22 word:已=-0.31 word:序=-0.31
word:库=0.41 word:应=-0.27 word:建=0.27 word:开=-0.21 word:後=-0.18 word:得=-0.32 word:志=0.17
word:思=-0.24 word:情=0.27 word:意=0.34 word:我=0.39 word:所=0.21 word:才=-0.18 word:把=-0.55 word:报=-0.17
word:押=-0.19 word:持=0.29 word:按=-0.20 word:据=-0.24 word:掉=0.32 word:推=0.29 word:支=0.34 word:改=0.65
word:放=0.32 word:数=0.33 word:整=-0.25 word:文=0.29 word:断=-0.23 word:日=-0.26 word:旧=-0.41
word:时=-0.23 word:明=-0.35 word:書=0.28 word:本=-0.56 word:构=0.38 word:查=0.20 word:根=-0.21 word:档=0.19
word:模=0.34 word:次=-0.23 word:止=0.36 word:決=0.21 word:没=-0.43 word:注=0.39 word:独=0.17 word:用=0.30
word:登=-0.33 word:目=0.26 word:相=0.20 word:確=0.17 word:移=0.29 word:端=0.44 word:第=-0.20 word:答=0.21
word:类=0.48 word:组=0.30 word:经=-0.31 word:结=0.51 word:聞=0.42 word:自=-0.61 word:英=0.25 word:行=0.33
word:补=-0.20 word:表=0.19 word:装=-0.20 word:要=0.75 word:解=-0.31 word:言=0.34 word:記=0.17 word:設=-0.23
word:認=0.27 word:记=0.50 word:该=-0.21 word:说=-0.34 word:调=-0.20 word:谢=-0.19 word:走=0.26
word:载=-0.20 word:边=-0.26 word:过=-0.22 word:返=-0.27 word:这=-0.45 word:进=0.28 word:那=-0.20
word:都=0.62 word:配=-0.24 word:释=0.36 word:里=-0.40 word:量=0.32 word:钮=-0.17 word:開=-0.27 word:関=0.21
word:面=-0.40 word:页=-0.29 word:项=0.28 word:题=-0.42 word:验=-0.19
"""
